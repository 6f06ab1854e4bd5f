import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Fault } from '../errors.js';
import { composedEValue } from '../homologs/composition.js';
import { cropOf, type FoundHomolog } from '../homologs/homolog-set.js';
import type { FindOptions, HomologQuery, ListHomologs, HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import { listHomologs, selectRounds } from '../homologs/select.js';
import { blosumScores, profileScores, withoutWeakEnds, type EndScores } from '../homologs/weak-ends.js';
import { GIBIBYTE_BYTES } from '../limits.js';
import { writeKeptStretches, type KeptStretch } from './kept-stretches.js';
import { findKeptIndex, type KeptIndex } from './kept-index.js';
import { MEMORY_LIMIT, runMmseqs, SENSITIVITY } from './mmseqs-process.js';

const TABLE_MAX_BYTES = 8 * GIBIBYTE_BYTES;
/** Each process reads or makes the index of the homolog source again, so a few large calls cost least. */
const BATCH_PROTEINS = 2_000;
/** Largest number of hits per protein from which the homologs of a profile are selected. */
const MAX_HITS = 300;

/** Pages of an index are read when a search needs them, and all processes of a machine share them. */
export const MAPPED = '2';

/** A homolog source that mmseqs searches. */
export interface MmseqsSource {
  /** Path of a database that `mmseqs createdb` wrote. */
  readonly database: string;
  /** 1 to 3. Each round after the first searches with profiles of the previous round's hits. */
  readonly rounds: number;
  /** Version of the installed mmseqs; an index that it made is used. Without it, each call makes the index anew. */
  readonly version?: string;
}

/**
 * Returns a finder that runs mmseqs, with its low-complexity masking and its correction for composition.
 * Errors  none here; the finder rejects with Refusal `tool_missing`, a Fault that quotes mmseqs, or the signal's reason
 */
export function mmseqsHomologs(
  homologSource: MmseqsSource,
  rules: HomologRules,
  threads: number,
): HomologFinder & { readonly list: ListHomologs } {
  /** Returns the hits, indexed by round and by protein. */
  const searchRounds = async (
    proteins: readonly HomologQuery[],
    maxHits: number,
    options: FindOptions,
  ): Promise<readonly (readonly FoundHomolog[][])[]> => {
    const folder = await mkdtemp(join(tmpdir(), 'gloaming-mmseqs-'));
    try {
      const place = { folder, threads, options };
      return await searchHomologSource(proteins, homologSource, { ...rules, maxHits }, place);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  return {
    batchProteins: BATCH_PROTEINS,
    async find(proteins, options = {}) {
      const rounds = await searchRounds(proteins, MAX_HITS, options);
      return proteins.map(({ sequence }, index) =>
        selectRounds(
          sequence,
          rounds.map((hits) => hits[index]),
          // mmseqs has measured the coverage with the weak ends.
          { ...rules, minCoverage: 0 },
        ),
      );
    },
    async list(sequence, limit, options = {}) {
      const rounds = await searchRounds([{ sequence }], limit, options);
      return listHomologs(
        rounds.flatMap(([hits]) => hits),
        rules,
      ).slice(0, limit);
    },
  };
}

interface Workplace {
  readonly folder: string;
  readonly threads: number;
  readonly options: FindOptions;
}

interface SearchRules extends Pick<
  HomologRules,
  'maxEValue' | 'minCoverage' | 'areEndsCut' | 'maxComposedEValue'
> {
  readonly maxHits: number;
}

/**
 * Runs the searches and returns each round's hits. Queries are named by their index, so that no id can be read as a
 * file or an option.
 * Errors  those of runMmseqs; errors of the file system
 */
async function searchHomologSource(
  proteins: readonly HomologQuery[],
  { database, rounds, version }: MmseqsSource,
  rules: SearchRules,
  { folder, threads, options }: Workplace,
): Promise<readonly (readonly FoundHomolog[][])[]> {
  const { maxEValue, minCoverage, maxHits } = rules;
  const path = (name: string): string => join(folder, name);
  const common = ['--threads', String(Math.max(1, threads)), '-v', '1'];
  const hits = ['-s', SENSITIVITY, '-e', String(maxEValue), '--max-seqs', String(maxHits)];
  const cover = ['-c', String(minCoverage), '--cov-mode', '2', '-a'];
  const memory = ['--split-memory-limit', MEMORY_LIMIT];
  const index = version === undefined ? undefined : await findKeptIndex(database, version);
  const search = async (queries: string, result: string, kind: keyof KeptIndex): Promise<void> => {
    const scratch = path(`${result}-scratch`);
    await mkdir(scratch);
    const files = [path(queries), index?.[kind] ?? database, path(result), scratch];
    const mapped = index === undefined ? [] : ['--db-load-mode', MAPPED];
    await runMmseqs(['search', ...files, ...hits, ...cover, ...memory, ...mapped, ...common], options);
  };
  const fasta = proteins.map(({ sequence }, index) => `>q${index}\n${sequence}\n`).join('');
  await writeFile(path('queries.fasta'), fasta);
  await runMmseqs(['createdb', path('queries.fasta'), path('queries'), '-v', '1'], options);
  const found: (readonly FoundHomolog[][])[] = [];
  for (let round = 1, queries = 'queries'; ; round += 1) {
    const [result, table, kept, profiles] = ['result', 'table.tsv', 'kept', 'profiles'].map(
      (name) => `${round}-${name}`,
    );
    await search(queries, result, round === 1 ? 'sequences' : 'profiles');
    const files = [path(queries), database, path(result)];
    const columns = ['--format-output', MMSEQS_COLUMNS];
    await runMmseqs(['convertalis', ...files, path(table), ...columns, ...common], options);
    const listed = await readTable(path(table), proteins.length, round);
    const before = found.at(-1);
    const stretches = proteins.map(({ sequence }, at) =>
      keptStretches(sequence, listed[at], before?.[at], rules),
    );
    found.push(stretches.map((ofQuery) => ofQuery.flatMap((stretch) => stretch.kept ?? [])));
    if (round >= rounds) return found;
    const areChanged = stretches.some((ofQuery) => ofQuery.some((stretch) => stretch.kept !== stretch.found));
    if (areChanged) await writeKeptStretches(path(result), path('queries.lookup'), path(kept), stretches);
    const ofProfiles = [path(queries), database, path(areChanged ? kept : result), path(profiles)];
    await runMmseqs(['result2profile', ...ofProfiles, ...common], options);
    queries = profiles;
  }
}

/**
 * Returns what enters a profile of each hit: without weak ends, and nothing of a hit that its composition explains.
 * @param before  hits of the round that the query's profile was made of; undefined in the first round
 */
function keptStretches(
  sequence: string,
  hits: readonly FoundHomolog[],
  before: readonly FoundHomolog[] | undefined,
  { areEndsCut, maxComposedEValue = Infinity }: SearchRules,
): readonly KeptStretch[] {
  const scoresOf = (): EndScores =>
    before === undefined ? blosumScores(sequence) : profileScores({ sequence, homologs: before });
  const scores = areEndsCut ? scoresOf() : undefined;
  return hits.map((found) => {
    const kept = scores === undefined ? found : withoutWeakEnds(found, sequence, scores);
    const isExplained = kept !== undefined && composedEValue(kept, sequence) > maxComposedEValue;
    return { found, kept: isExplained ? undefined : kept };
  });
}

/** Columns of a table of hits, in the notation of `mmseqs convertalis`. */
export const MMSEQS_COLUMNS = 'query,target,evalue,fident,qstart,qend,qlen,tstart,tend,cigar,tseq';

/**
 * Reads a table of hits of `convertalis`; the result has one list for each query.
 * Errors  Fault for an unreadable table
 */
export async function readTable(
  path: string,
  queries: number,
  round: number,
): Promise<readonly FoundHomolog[][]> {
  const { size } = await stat(path);
  if (size > TABLE_MAX_BYTES)
    throw new Fault(`mmseqs wrote ${size} bytes of hits, more than the limit of ${TABLE_MAX_BYTES}.`);
  const hits: FoundHomolog[][] = Array.from({ length: queries }, () => []);
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const { query, homolog } = parseMmseqsLine(line, round);
    if (hits[query] === undefined) throw unreadable(line);
    hits[query].push(homolog);
  }
  return hits;
}

/**
 * Parses a line of the table of hits. Positions in the line are one-based with inclusive ends.
 * Errors  Fault for any other form
 */
export function parseMmseqsLine(
  line: string,
  round: number,
): { readonly query: number; readonly homolog: FoundHomolog } {
  const cells = line.split('\t');
  const numbers = cells.slice(2, 9).map(Number);
  if (cells.length !== 11 || numbers.some(Number.isNaN) || !/^q\d+$/.test(cells[0])) throw unreadable(line);
  const [eValue, identity, queryStart, queryEnd, length, targetStart, targetEnd] = numbers;
  const target = cells[10].toUpperCase();
  const start = queryStart - 1;
  const stretch = { start, end: queryEnd, length, targetStart: targetStart - 1, targetEnd };
  const homolog = {
    id: cells[1],
    eValue,
    identity,
    coverage: (queryEnd - start) / length,
    round,
    ...cropOf(target, stretch),
    start,
    cigar: cells[9],
    targetStart: stretch.targetStart,
    targetLength: target.length,
  };
  return { query: Number(cells[0].slice(1)), homolog };
}

function unreadable(line: string): Fault {
  return new Fault(`mmseqs wrote a line that is not an alignment: ${line.slice(0, 200)}`);
}
