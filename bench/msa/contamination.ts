import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { mergeRounds, searchEachRound } from '../../src/find-homologs/rounds.js';
import type { FoundHomolog } from '../../src/homologs/homolog-set.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { eValueOf } from '../../src/search/pairs/candidate-significance.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { spaced } from '../tools/proteins.js';
import { proteinsOf, searchWithMmseqs } from './mmseqs.js';
import { roundSettings } from './round-settings.js';
import { foundInRounds, listFromSource } from './source.js';

/*
 * How many rows of an alignment are of another fold? Development domains search a database of labelled domains of the
 * appliance. Ours are the rows after one, two and three rounds, and those with rows of a homolog source. Those of
 * mmseqs are from one and three rounds among the same sequences.
 */

const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 1_000 };
const ROUNDS = 3;

/** A row: its query and its target. */
interface Row {
  readonly query: string;
  readonly target: string;
}

/** @param options  slug of the database, path of the labels, number of queries, name of a homolog source */
export async function measureContamination([database, labelsPath, count = '100', source]: readonly (
  string | undefined
)[]) {
  if (database === undefined || labelsPath === undefined) {
    console.log(
      'Skipped: npm run bench -- msa contamination <database of domains> <labels.tsv> [queries] [source]',
    );
    return { skipped: 'no database or no labels' };
  }
  const labels = readLabels(labelsPath);
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-msa-'));
  try {
    const { releaseId } = appliance.catalog.defaultRelease(database, 'bench');
    const engine = await appliance.engines.open(releaseId);
    const { targets } = engine.release;
    const dev = Array.from({ length: targets.count }, (_, at) => targets.id(at)).filter(
      (id) => labels.get(id)?.isDev,
    );
    const queries = spaced(dev, Number(count)).map((id) => ({
      id,
      sequence: targets.sequence(targets.find(id)!),
    }));
    console.log(`${queries.length} development domains against ${targets.count} of ${database}`);
    const { ways, homologs: known } = await rowsByRounds(queries, engine);
    if (source !== undefined) {
      const sourceQueries = queries.map(({ sequence }, at) => ({ sequence, homologs: known[at] }));
      const { homologs } = await listFromSource(appliance.config, source, sourceQueries, RULES);
      const rows = homologs.flatMap((list, at) =>
        list.map(({ id: target }) => ({ query: queries[at].id, target })),
      );
      ways[`rounds_${ROUNDS}_with_source`] = distinct([...ways[`rounds_${ROUNDS}`], ...rows]);
    }
    for (const rounds of [1, ROUNDS]) {
      const homologs = await searchWithMmseqs(
        queries,
        proteinsOf(engine.release),
        { ...RULES, rounds },
        folder,
      );
      ways[`mmseqs_${rounds}`] = distinct(
        queries.flatMap(({ id: query }, at) => homologs[at].map(({ id: target }) => ({ query, target }))),
      );
    }
    const measured = Object.entries(ways).map(([name, rows]) => [name, measureRows(rows, labels)] as const);
    console.table(Object.fromEntries(measured));
    return { database, release_id: releaseId, queries: queries.length, ...Object.fromEntries(measured) };
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function rowsByRounds(
  queries: readonly { readonly id: string; readonly sequence: string }[],
  engine: SearchEngine,
): Promise<{
  readonly ways: Record<string, readonly Row[]>;
  /** Homologs of each query in all rounds. */
  readonly homologs: readonly (readonly FoundHomolog[])[];
}> {
  const { targets } = engine.release;
  const homologs: (readonly FoundHomolog[])[] = [];
  const rows: Row[][] = Array.from({ length: ROUNDS }, () => []);
  for (const { id: query, sequence } of queries) {
    const settings = roundSettings(engine, RULES.maxSequences, RULES.maxEvalue);
    const proteins = [{ sequence, normalizationId: NORMALIZATION_ID }];
    const [results] = await searchEachRound(proteins, settings, ROUNDS, engine);
    homologs.push(foundInRounds(results, RULES.maxEvalue, engine));
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (const candidate of mergeRounds(results.slice(0, round), RULES.maxEvalue).candidates) {
        const { alignment, targetIndex } = candidate;
        const isCertain = (eValueOf(candidate) ?? Infinity) <= RULES.maxEvalue;
        const isCovering = (alignment?.queryCoverageRatio ?? 0) >= RULES.minCoverage;
        if (isCertain && isCovering) rows[round - 1].push({ query, target: targets.id(targetIndex) });
      }
    }
  }
  return { ways: Object.fromEntries(rows.map((list, index) => [`rounds_${index + 1}`, list])), homologs };
}

function distinct(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map((row) => [`${row.query} ${row.target}`, row])).values()];
}

/** Counts rows without the query itself. Rows without a label count as rows only. */
function measureRows(rows: readonly Row[], labels: ReadonlyMap<string, DomainLabel>) {
  const others = rows.filter(({ query, target }) => query !== target);
  const count = (isCounted: (query: DomainLabel, target: DomainLabel) => boolean): number =>
    others.filter(({ query, target }) => {
      const [own, other] = [labels.get(query), labels.get(target)];
      return own !== undefined && other !== undefined && isCounted(own, other);
    }).length;
  const otherFold = count((own, other) => own.foldGroup !== other.foldGroup);
  return {
    rows: others.length,
    same_superfamily: count((own, other) => own.superfamily === other.superfamily),
    other_fold: otherFold,
    other_fold_share: others.length === 0 ? 0 : otherFold / others.length,
  };
}
