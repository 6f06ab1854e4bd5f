import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import type { HomologyCandidate } from '../../src/contract/search/candidate-set.js';
import type { ProteinRelative as ProteinHomolog } from '../../src/contract/runs/run-relatives.js';
import { assert } from '../../src/errors.js';
import { seededRandom } from '../../src/random.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { search } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { unpairedBlock } from '../../src/services/colabfold/alignments.js';
import { presentHomolog } from '../../src/services/run-kinds/relatives.js';
import { presentAnswer } from '../../src/services/search/present-search.js';
import type { Bench } from '../main.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { effectiveDepth } from './depth.js';
import { searchWithMmseqs } from './mmseqs.js';

/*
 * How deep are the alignments of ColabFold's clients? The bench samples proteins of a FASTA file and searches a
 * calibrated database of the appliance (GLOAMING_INDEXES, GLOAMING_DATA). It compares four alignments: the hits, the
 * hits with homologs from the database's homolog source, and mmseqs's hits after one and after three rounds. All follow
 * the interface's defaults without thinning: E-value .001, half of the query covered.
 *
 *   npm run bench -- msa <database> <FASTA> [proteins, 20]
 */

const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 3_000 };
const SEED = 20;

interface Alignment {
  readonly depth: number;
  readonly neff: number;
}

/** Rows below a query. */
interface FoundHomologs {
  readonly candidates?: readonly HomologyCandidate[];
  readonly relatives?: readonly ProteinHomolog[];
}

export const run: Bench = async ([database, fasta, count = '20']) => {
  if (database === undefined || fasta === undefined) {
    console.log(
      'Skipped: name a database of the appliance and a FASTA file: npm run bench -- msa mylab some.fasta',
    );
    return { skipped: 'no database or no FASTA' };
  }
  const proteins = draw((await readProteins(fasta)).list, Number(count));
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-msa-'));
  try {
    const { releaseId } = appliance.catalog.defaultRelease(database, 'bench');
    const engine = await appliance.engines.open(releaseId);
    console.log(
      `${proteins.length} proteins against ${engine.release.targets.count} of ${database}, ${releaseId}`,
    );
    const ways: Record<string, readonly Alignment[]> = await searchHere(proteins, engine);
    for (const rounds of [1, 3]) {
      const homologs = await searchWithMmseqs(proteins, engine.release, { ...RULES, rounds }, folder);
      const alignments = proteins.map((protein, at) => alignmentOf(protein, { relatives: homologs[at] }));
      ways[`mmseqs_${rounds}`] = await Promise.all(alignments);
    }
    return { database, release_id: releaseId, proteins: proteins.length, ...report(proteins, ways) };
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true, force: true });
  }
};

function draw(list: readonly BenchProtein[], count: number): readonly BenchProtein[] {
  const random = seededRandom(SEED);
  const rest = [...list];
  return Array.from(
    { length: Math.min(count, list.length) },
    () => rest.splice(random.below(rest.length), 1)[0],
  );
}

/** Searches with hits alone, and with the homolog source if the database has one. */
async function searchHere(proteins: readonly BenchProtein[], engine: SearchEngine) {
  const hits: Alignment[] = [];
  const both: Alignment[] = [];
  for (const protein of proteins) {
    const request = {
      query: { sequence: protein.sequence, normalizationId: NORMALIZATION_ID },
      targetSpace: unfilteredSpace(engine.release),
      limit: RULES.maxSequences,
      evidence: 'pairwise_sequence_alignment',
      guarantee: 'approximate',
      significance: 'required',
    } as const;
    const result = await search(request, engine);
    const { candidates } = await presentAnswer({ engine, request, result });
    hits.push(await alignmentOf(protein, { candidates }));
    const listed = await engine.profileEncoder?.list?.(protein.sequence, RULES.maxSequences);
    if (listed === undefined) continue;
    const homologs = listed.map((homolog) => presentHomolog(homolog, protein.sequence));
    both.push(await alignmentOf(protein, { candidates, relatives: homologs }));
  }
  return { hits, ...(both.length > 0 && { with_background: both }) };
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
  assert(
    rows.every(({ length }) => length === sequence.length),
    'a row has a column for each residue of the query',
  );
  return { depth: rows.length, neff: effectiveDepth(rows) };
}

async function* once<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}

/** Prints a line for each protein, then means and medians. */
function report(proteins: readonly BenchProtein[], ways: Readonly<Record<string, readonly Alignment[]>>) {
  const names = Object.keys(ways);
  const line = (first: string, cells: readonly string[]): void =>
    console.log([first.padEnd(24), ...cells.map((cell) => cell.padStart(18))].join(''));
  console.log(
    'rows with the query (Neff: Σ 1 ÷ rows of 80 % identity or more over the columns that both have)',
  );
  line('', names);
  for (const [at, { id }] of proteins.entries())
    line(
      id.slice(0, 23),
      names.map((name) => inWords(ways[name][at])),
    );
  const means = names.map((name) => averageOf(ways[name], mean));
  line('mean', means.map(inWords));
  line(
    'median',
    names.map((name) => inWords(averageOf(ways[name], median))),
  );
  return Object.fromEntries(names.map((name, at) => [name, means[at]]));
}

function averageOf(list: readonly Alignment[], average: (values: readonly number[]) => number): Alignment {
  return { depth: average(list.map(({ depth }) => depth)), neff: average(list.map(({ neff }) => neff)) };
}

function inWords({ depth, neff }: Alignment): string {
  return `${Number.isInteger(depth) ? depth : depth.toFixed(1)} (${neff.toFixed(1)})`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
}
