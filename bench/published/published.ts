import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { sampleDistinct, seededRandom } from '../../src/random.js';
import { createWalk } from '../../src/propagation/walk.js';
import { WALK_PARAMETERS } from '../../src/propagation/weights.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { reversed } from '../../src/significance/control.js';
import type { Bench } from '../main.js';
import { graphOf, searchLists, type HitList } from '../propagation/lists.js';
import { measureNull, rankWalk } from '../propagation/ranked.js';
import { measureSensitivity, type Hit } from '../sensitivity/metrics.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { benchHomologs } from '../tools/homologs.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, spaced, type BenchProtein } from '../tools/proteins.js';
import { createTruths } from '../tools/truth.js';
import { measurePeers } from './peers.js';
import { measureClaims, measureFirstFalse, readLookup, type Claims } from './protocol.js';
import { PUBLISHED } from './rows.js';

/*
 * Our rankings by the definitions of two published benchmarks, beside the figures of other methods.
 *
 *   npm run bench -- published FOLDER [background.fasta] [folder to keep databases and hits in]
 *   npm run bench -- published dev [background.fasta] [folder to keep databases and hits in] [queries of the peers]
 *
 * FOLDER has the files of Foldseek's benchmark, all_scope40.fasta and scop_lookup.fix.tsv, and may have the lookups of
 * Reseek's, scop40.lookup and scop40c.lookup. This repository neither has nor fetches these files. The background is a
 * FASTA file of homologs; without it, the rows with homologs are left out. mmseqs has to be installed for it.
 *
 * `dev` takes the labelled domains of the shared data and the definitions of evaluate.py. There, other tools with
 * profiles search the same domains with the same background (peers.ts). Each row says what its E-values are worth.
 */

const FOLDSEEK = { fasta: 'all_scope40.fasta', lookup: 'scop_lookup.fix.tsv' };
const RESEEK = { SCOP40: 'scop40.lookup', SCOP40c: 'scop40c.lookup' };
const REVERSED_COUNT = 1_000;
/** Listed hits of a query. */
const RANKED = 1_000;
/** Queries of the published files. */
const PUBLISHED_QUERIES = { all: 3_566, 'no catch-all families': 1_142 };
const SEPQ_COLUMNS = ['SEPQ .1', 'SEPQ 1', 'SEPQ 10'];
const SEPQ_MARKS = ['0.1', '1', '10'];

type Labels = ReadonlyMap<string, DomainLabel>;
/** Hits of all queries by ranking; scores are −ln E. */
export type Rankings = Readonly<Record<string, readonly Hit[]>>;

export const run: Bench = async ([folder, background, work = 'published', peerQueries = '100']) => {
  if (folder === undefined) return skip('name the folder of the published files, or dev');
  if (background !== undefined && !existsSync(background)) return skip(`there is no file ${background}`);
  const isDev = folder === 'dev';
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  const [fasta, lookup] = isDev
    ? [join(scope, 'domains.fasta'), join(scope, 'labels.tsv')]
    : [join(folder, FOLDSEEK.fasta), join(folder, FOLDSEEK.lookup)];
  for (const path of [fasta, lookup]) if (!existsSync(path)) return skip(`there is no file ${path}`);
  const labels = isDev ? readLabels(lookup) : readLookup(lookup);
  const { list } = await readProteins(fasta);
  const targets = list.filter(({ id }) => labels.has(id));
  if (targets.length < 2) return skip(`${fasta} has no two domains of ${lookup}`);
  console.log(`${targets.length} domains; ${labels.size - targets.length} of the lookup have no sequence`);
  await mkdir(work, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(work, 'i'), GLOAMING_DATA: join(work, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    const rankings = await rankOurs(appliance, targets, background, work);
    if (!isDev) return printPublished(rankings, labels, folder);
    const queries = spaced(
      targets.filter(({ id }) => labels.get(id)!.isDev),
      Number(peerQueries),
    );
    const peers = await measurePeers(queries, targets, background, work);
    return printDev({ ...rankings, ...peers.rankings }, queries, labels, peers.skipped);
  } finally {
    await appliance.close();
  }
};

function skip(why: string): Readonly<Record<string, unknown>> {
  console.log(`Skipped: ${why}.`);
  return { skipped: why };
}

/** Searches all domains with all of them: plain, with homologs, and with propagation from the better lists. */
async function rankOurs(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  background: string | undefined,
  work: string,
): Promise<Rankings> {
  const rankings: Record<string, readonly Hit[]> = {};
  const search = async (name: string, engine: SearchEngine): Promise<void> => {
    const sequences = targets.map(({ sequence }) => sequence);
    const sample = sampleDistinct(targets.length, REVERSED_COUNT, seededRandom(1));
    const decoys = Array.from(sample, (target) => reversed(sequences[target]));
    const lists = await searchLists(engine, sequences, work, `${name}-domains`, Infinity);
    const decoyLists = await searchLists(engine, decoys, work, `${name}-reversed`, Infinity);
    rankings[name] = lists.flatMap((list, query) =>
      hitsOf(
        query,
        new Map(Array.from(list.targets, (target, hit) => [target, list.logEValues[hit]])),
        targets,
      ),
    );
    rankings[`${name}, propagation`] = propagated(lists, decoyLists, targets, engine);
  };
  await search('plain', await openCalibrated(appliance, targets, 'plain', work));
  if (background === undefined) return rankings;
  const encoder = await appliance.loadEncoder(appliance.config.encoder);
  try {
    const homologs = await benchHomologs(appliance, encoder, 'background', async () => background);
    await search('homologs', await openCalibrated(appliance, targets, 'homologs', work, homologs));
  } finally {
    await encoder.close();
  }
  return rankings;
}

/** Ranks by the joint E-value of comparison and walk. The query is no bridge, and no row of its own. */
function propagated(
  lists: readonly HitList[],
  decoys: readonly HitList[],
  targets: readonly BenchProtein[],
  { release }: SearchEngine,
): readonly Hit[] {
  const walk = createWalk(graphOf(lists), WALK_PARAMETERS);
  const walkNull = measureNull(walk, decoys, release.manifest.relatives !== undefined);
  return lists.flatMap((list, query) =>
    hitsOf(query, rankWalk(query, list, targets.length, { walk, walkNull }).merged, targets),
  );
}

function hitsOf(
  query: number,
  logEValues: ReadonlyMap<number, number>,
  targets: readonly BenchProtein[],
): readonly Hit[] {
  return [...logEValues]
    .filter(([target]) => target !== query)
    .sort((a, b) => a[1] - b[1])
    .slice(0, RANKED)
    .map(([target, log]) => ({ queryId: targets[query].id, targetId: targets[target].id, score: -log }));
}

/** Prints a table for each published benchmark whose files the folder has. */
export function printPublished(
  rankings: Rankings,
  labels: Labels,
  folder: string,
): Readonly<Record<string, unknown>> {
  const figures: Record<string, unknown> = {};
  const shares = Object.entries(rankings).map(
    ([name, hits]) => [name, measureFirstFalse(hits, labels)] as const,
  );
  for (const group of ['all', 'no catch-all families'] as const) {
    const ours = shares.map(([name, groups]) => {
      const { family, superfamily, fold } = groups[group];
      return { method: name, values: [family, superfamily, fold] };
    });
    const queries = shares[0][1][group].queries;
    const expected = PUBLISHED_QUERIES[group];
    const note =
      queries === expected
        ? ''
        : `; the published files give ${expected}, so the rows of others do not compare`;
    printTable(`Foldseek, ${group}`, `${queries} queries${note}`, ['family', 'superfamily', 'fold'], ours);
    figures[`Foldseek, ${group}`] = { queries, ...named(ours) };
  }
  for (const [benchmark, file] of Object.entries(RESEEK)) {
    if (!existsSync(join(folder, file))) {
      console.log(`\n${benchmark}: skipped, there is no ${file}.`);
      continue;
    }
    const own = readLookup(join(folder, file));
    for (const [truth, prefix] of Object.entries({ '': 'sf2', ', other folds are false': 'sf3' })) {
      const ours = Object.entries(rankings).map(([name, hits]) => ({
        method: name,
        values: separation(hits, own, prefix),
      }));
      printTable(`${benchmark}${truth}`, `${own.size} queries`, SEPQ_COLUMNS, ours);
      figures[`${benchmark}${truth}`] = { queries: own.size, ...named(ours) };
    }
  }
  return figures;
}

/** Share of the true pairs at .1, 1 and 10 false hits a query. All domains of the lookup are queries. */
function separation(hits: readonly Hit[], labels: Labels, prefix: string): readonly number[] {
  const inside = hits.filter(({ queryId, targetId }) => labels.has(queryId) && labels.has(targetId));
  const { scope } = createTruths(() => false);
  const metrics = measureSensitivity(inside, new Set(labels.keys()), labels, scope);
  return SEPQ_MARKS.map((mark) => metrics[`${prefix}_SEPQ${mark}`]);
}

interface Row {
  readonly method: string;
  readonly values: readonly number[];
}

/** Prints our rows and then those of others, with their sources. */
function printTable(benchmark: string, note: string, columns: readonly string[], ours: readonly Row[]): void {
  console.log(
    `\n${benchmark} (${note})\n${' '.repeat(44)}${columns.map((name) => name.padStart(13)).join('')}`,
  );
  const cells = (values: readonly (number | undefined)[]): string =>
    values.map((value) => (value === undefined ? '–' : value.toFixed(4)).padStart(13)).join('');
  for (const { method, values } of ours) console.log(`${`ours, ${method}`.padEnd(44)}${cells(values)}`);
  for (const { method, values, source } of PUBLISHED) {
    const own = Object.entries(values).find(([name]) => name === benchmark)?.[1];
    if (own !== undefined) console.log(`${method.padEnd(44)}${cells(own)}  ${source}`);
  }
}

function named(rows: readonly Row[]): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(rows.map(({ method, values }) => [method, values]));
}

/** Prints the metrics of evaluate.py for these queries, and what the E-values of each row are worth. */
function printDev(
  rankings: Rankings,
  queries: readonly BenchProtein[],
  labels: Labels,
  skipped: readonly string[],
): Readonly<Record<string, unknown>> {
  const ids = new Set(queries.map(({ id }) => id));
  const { scope } = createTruths(() => false);
  const rows: Record<string, unknown> = {};
  console.log(`\n${queries.length} dev queries; false ÷ claimed at E = .001, .1, 1`);
  for (const [name, hits] of Object.entries(rankings)) {
    const own = hits.filter(({ queryId }) => ids.has(queryId));
    const metrics = measureSensitivity(own, ids, labels, scope);
    const claims = measureClaims(own, queries.length, labels);
    const values = ['to1stFP_family', 'to1stFP_superfamily', 'to1stFP_fold', 'sf3_SEPQ1', 'cR@10'].map(
      (metric) => `${metric} ${metrics[metric].toFixed(3)}`,
    );
    console.log(`${name.padEnd(28)}${values.join(', ')}; ${describeClaims(claims)}`);
    rows[name] = { ...metrics, ...claims };
  }
  for (const name of skipped) console.log(`${name.padEnd(28)}skipped: not installed`);
  return { queries: queries.length, rows, skipped };
}

function describeClaims({ truePairs, falseOverClaimed }: Claims): string {
  const ratios = ['0.001', '0.1', '1'].map((eValue) => falseOverClaimed[eValue].toFixed(2));
  return `${truePairs} true pairs at E ≤ .001, false ÷ claimed ${ratios.join(' ')}`;
}
