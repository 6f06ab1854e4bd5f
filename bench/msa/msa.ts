import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import type { HomologyCandidate } from '../../src/contract/search/candidate-set.js';
import type { ProteinRelative as ProteinHomolog } from '../../src/contract/runs/run-relatives.js';
import { assert } from '../../src/errors.js';
import { mergeRounds, searchEachRound } from '../../src/find-homologs/rounds.js';
import type { FoundHomolog } from '../../src/homologs/homolog-set.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { unpairedBlock } from '../../src/services/colabfold/alignments.js';
import { presentHomolog } from '../../src/services/run-kinds/relatives.js';
import { presentCandidate } from '../../src/services/search/present-candidates.js';
import type { Bench } from '../main.js';
import { draw, readProteins, type BenchProtein } from '../tools/proteins.js';
import { median } from '../tools/statistics.js';
import { measureContamination } from './contamination.js';
import { measureDecoys } from './decoys.js';
import { measureDoor } from './door.js';
import { effectiveDepth } from './depth.js';
import { searchWithJackhmmer, type JackhmmerHits } from './jackhmmer.js';
import { childrenSeconds, proteinsOf, searchWithMmseqs } from './mmseqs.js';
import { roundSettings } from './round-settings.js';
import { foundInRounds, listFromSource } from './source.js';

/*
 * How deep are the alignments of ColabFold's clients? The bench samples proteins of a FASTA file and searches a
 * calibrated database of the appliance (GLOAMING_INDEXES, GLOAMING_DATA). All alignments follow the defaults of the
 * interface without thinning: E-value .001, half of the query covered. Neff is at 80 % identity. It compares:
 *
 *   rounds_1 to rounds_3        hits after one, two and three rounds
 *   rounds_3_with_background    with the homologs of the database's homolog source
 *   rounds_3_with_source        with rows of the named homolog source, as `--homolog-rows` adds them
 *   mmseqs_1, mmseqs_3          hits of mmseqs after one and three rounds among the same sequences
 *   rounds_3_and_mmseqs_3       rows of both, each protein once
 *
 * Where jackhmmer is installed, the bench also counts the rows of each method that three rounds of jackhmmer find, too:
 * deep alignments of proteins with biased composition have many that it does not find.
 *
 *   npm run bench -- msa <database> <FASTA> [proteins, 20] [first protein, 0] [homolog source]
 *   npm run bench -- msa contamination <database of domains> <labels.tsv> [queries, 100] [homolog source]
 *   npm run bench -- msa decoys <FASTA> [proteins, 20] [first protein, 0]
 *   npm run bench -- msa door <database> <FASTA> [tickets, 100] [rounds, 3] [homolog source]
 */

const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 3_000 };
const ROUNDS = 3;

interface Alignment extends Size {
  /** Rows of the alignment's proteins, and their ids, the query first. */
  readonly rows: readonly string[];
  readonly ids: readonly string[];
}

/** Number of rows with the query, and their effective number. */
interface Size {
  readonly depth: number;
  readonly neff: number;
}

/** Rows below a query. */
interface FoundHomologs {
  readonly candidates?: readonly HomologyCandidate[];
  readonly relatives?: readonly ProteinHomolog[];
}

export const run: Bench = async ([first, ...rest]) => {
  if (first === 'contamination') return measureContamination(rest);
  if (first === 'decoys') return measureDecoys(rest);
  if (first === 'door') return measureDoor(rest);
  const [fasta, count = '20', from = '0', source] = rest;
  return measureDepth(first, fasta, { count: Number(count), from: Number(from), source });
};

/** Which proteins are drawn, and the name of a homolog source; undefined for none. */
interface DepthOptions {
  readonly count: number;
  readonly from: number;
  readonly source: string | undefined;
}

async function measureDepth(
  database: string | undefined,
  fasta: string | undefined,
  { count, from, source }: DepthOptions,
): ReturnType<Bench> {
  if (database === undefined || fasta === undefined) {
    console.log(
      'Skipped: name a database of the appliance and a FASTA file: npm run bench -- msa mylab some.fasta',
    );
    return { skipped: 'no database or no FASTA' };
  }
  const proteins = draw((await readProteins(fasta)).list, from + count).slice(from);
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-msa-'));
  try {
    const { releaseId } = appliance.catalog.defaultRelease(database, 'bench');
    const engine = await appliance.engines.open(releaseId);
    console.log(
      `${proteins.length} proteins against ${engine.release.targets.count} of ${database}, ${releaseId}`,
    );
    const { ways, candidates, homologs: known } = await searchHere(proteins, engine);
    if (source !== undefined) {
      const queries = proteins.map(({ sequence }, at) => ({ sequence, homologs: known[at] }));
      const { homologs, seconds } = await listFromSource(appliance.config, source, queries, RULES);
      ways['rounds_3_with_source'] = {
        alignments: await Promise.all(
          proteins.map((protein, at) => {
            const relatives = homologs[at].map((homolog) => presentHomolog(homolog, protein.sequence));
            return alignmentOf(protein, { candidates: candidates[at], relatives });
          }),
        ),
        seconds: seconds + ways['rounds_3'].seconds,
      };
    }
    for (const rounds of [1, 3]) {
      const before = childrenSeconds();
      const homologs = await searchWithMmseqs(
        proteins,
        proteinsOf(engine.release),
        { ...RULES, rounds },
        folder,
      );
      const seconds = (childrenSeconds() - before) / proteins.length;
      const rowsOf = (rows: (at: number) => FoundHomologs) =>
        Promise.all(proteins.map((protein, at) => alignmentOf(protein, rows(at))));
      ways[`mmseqs_${rounds}`] = { alignments: await rowsOf((at) => ({ relatives: homologs[at] })), seconds };
      if (rounds === 1) continue;
      const both = await rowsOf((at) => ({ candidates: candidates[at], relatives: homologs[at] }));
      ways['rounds_3_and_mmseqs_3'] = { alignments: both, seconds: seconds + ways['rounds_3'].seconds };
    }
    const rules = { ...RULES, rounds: ROUNDS };
    const hits = await searchWithJackhmmer(proteins, proteinsOf(engine.release), rules, folder);
    const figures = { ...report(proteins, ways), ...(hits && reportSupport(ways, hits)) };
    return { database, release_id: releaseId, proteins: proteins.length, ...figures };
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Alignments of all proteins by one method, and processor time a protein. Unit: s */
interface Way {
  readonly alignments: readonly Alignment[];
  readonly seconds: number;
}

/** Searches in one to three rounds, and in three with the homolog source if the database has one. */
async function searchHere(proteins: readonly BenchProtein[], engine: SearchEngine) {
  const byRound: Alignment[][] = Array.from({ length: ROUNDS }, () => []);
  const seconds = new Float64Array(ROUNDS);
  const both: Alignment[] = [];
  const candidatesOfAll: (readonly HomologyCandidate[])[] = [];
  const homologsOfAll: (readonly FoundHomolog[])[] = [];
  for (const protein of proteins) {
    const settings = roundSettings(engine, RULES.maxSequences, RULES.maxEvalue);
    const query = { sequence: protein.sequence, normalizationId: NORMALIZATION_ID };
    let candidates: readonly HomologyCandidate[] = [];
    const before = process.cpuUsage();
    const [results] = await searchEachRound([query], settings, ROUNDS, engine);
    const { user, system } = process.cpuUsage(before);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const merged = mergeRounds(results.slice(0, round), RULES.maxEvalue);
      candidates = merged.candidates.map((candidate) =>
        presentCandidate(candidate, protein.sequence.length, engine.release),
      );
      byRound[round - 1].push(await alignmentOf(protein, { candidates }));
    }
    // A query whose profile does not change has fewer rounds, and all its time counts for three.
    seconds[ROUNDS - 1] += (user + system) / 1e6 / proteins.length;
    candidatesOfAll.push(candidates);
    homologsOfAll.push(foundInRounds(results, RULES.maxEvalue, engine));
    const listed = await engine.profileEncoder?.list?.(protein.sequence, RULES.maxSequences);
    if (listed === undefined) continue;
    const homologs = listed.map((homolog) => presentHomolog(homolog, protein.sequence));
    both.push(await alignmentOf(protein, { candidates, relatives: homologs }));
  }
  const ways: Record<string, Way> = Object.fromEntries(
    byRound.map((alignments, index) => [`rounds_${index + 1}`, { alignments, seconds: seconds[index] }]),
  );
  if (both.length > 0) ways['rounds_3_with_background'] = { alignments: both, seconds: 0 };
  return { ways, candidates: candidatesOfAll, homologs: homologsOfAll };
}

/** Builds the block of the interface and parses it like a client. */
async function alignmentOf(
  { sequence }: BenchProtein,
  { candidates = [], relatives: homologs = [] }: FoundHomologs,
): Promise<Alignment> {
  const chain = { sequence, candidates: once(candidates), relatives: once(homologs) };
  const { bytes } = await unpairedBlock(chain, RULES, false, new AbortController().signal);
  const lines = bytes.toString('latin1').trimEnd().split('\n');
  const rows = lines.filter((line) => !line.startsWith('>')).map((row) => row.replaceAll(/[a-z]/g, ''));
  const ids = lines.flatMap((line) => (line.startsWith('>') ? [line.slice(1).split('\t')[0]] : []));
  assert(
    rows.every(({ length }) => length === sequence.length),
    'a row has a column for each residue of the query',
  );
  // The query's own record has no header here.
  return { depth: rows.length, neff: effectiveDepth(rows), rows, ids: ['', ...ids] };
}

async function* once<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}

/** Prints a line for each protein, then means and medians, and processor time a protein where it was measured. */
function report(proteins: readonly BenchProtein[], ways: Readonly<Record<string, Way>>) {
  const names = Object.keys(ways);
  const line = (first: string, cells: readonly string[]): void =>
    console.log([first.padEnd(24), ...cells.map((cell) => cell.padStart(22))].join(''));
  console.log(
    'rows with the query (Neff: Σ 1 ÷ rows of 80 % identity or more over the columns that both have)',
  );
  line('', names);
  for (const [at, { id }] of proteins.entries())
    line(
      id.slice(0, 23),
      names.map((name) => inWords(ways[name].alignments[at])),
    );
  const averages = names.map((name) => {
    const { alignments, seconds } = ways[name];
    return {
      mean: averageOf(alignments, mean),
      median: averageOf(alignments, median),
      ...(seconds > 0 && { processor_seconds: seconds }),
    };
  });
  line(
    'mean',
    averages.map((each) => inWords(each.mean)),
  );
  line(
    'median',
    averages.map((each) => inWords(each.median)),
  );
  line(
    'processor time, s',
    averages.map((each) => each.processor_seconds?.toFixed(1) ?? '–'),
  );
  return Object.fromEntries(names.map((name, at) => [name, averages[at]]));
}

/** Prints and returns the sizes of the alignments of those rows that jackhmmer finds, too. */
function reportSupport(
  ways: Readonly<Record<string, Way>>,
  { ids: found, covering, seconds }: JackhmmerHits,
) {
  const averages = Object.entries(ways).map(([name, { alignments }]) => {
    const sizes = alignments.map(({ rows, ids }, at): Size => {
      const supported = rows.filter((_, row) => row === 0 || found[at].has(ids[row]));
      return { depth: supported.length, neff: effectiveDepth(supported) };
    });
    const rowsOf = (some: readonly Size[]): number => sum(some.map(({ depth }) => depth - 1));
    const shared = sum(alignments.map(({ ids }, at) => ids.filter((id) => covering[at].has(id)).length));
    const counts = { rows: rowsOf(alignments), supported: rowsOf(sizes), shared };
    return [name, { ...counts, mean: averageOf(sizes, mean), median: averageOf(sizes, median) }] as const;
  });
  const rows = sum(covering.map(({ size }) => size));
  console.log(
    `rows that three rounds of jackhmmer find, too (${seconds.toFixed(1)} s a protein), and how many of its own ` +
      `${rows} hits that cover half of the query are rows`,
  );
  for (const [name, each] of averages) {
    const counts = [`${each.supported} of ${each.rows}`, `${each.shared} of ${rows}`];
    const cells = [...counts, inWords(each.mean), inWords(each.median)];
    console.log([name.padEnd(24), ...cells.map((cell) => cell.padStart(22))].join(''));
  }
  return {
    supported: Object.fromEntries(averages),
    jackhmmer_rows: rows,
    jackhmmer_processor_seconds: seconds,
  };
}

function averageOf(list: readonly Size[], average: (values: readonly number[]) => number): Size {
  return { depth: average(list.map(({ depth }) => depth)), neff: average(list.map(({ neff }) => neff)) };
}

function inWords({ depth, neff }: Size): string {
  return `${Number.isInteger(depth) ? depth : depth.toFixed(1)} (${neff.toFixed(1)})`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
