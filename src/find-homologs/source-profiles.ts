import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FindOptions } from '../homologs/finder.js';
import { extendedCigar, type FoundHomolog, type Homolog, type HomologSet } from '../homologs/homolog-set.js';
import { HOMOLOG_RULES, type HomologRules } from '../homologs/rules.js';
import { MSA_MAX_ROUNDS } from '../limits.js';
import { a3mRow } from '../sequence/a3m.js';
import { findKeptIndex } from './kept-index.js';
import { DEEP_SENSITIVITY, MEMORY_LIMIT, runMmseqs } from './mmseqs-process.js';
import { MAPPED, MMSEQS_COLUMNS, readTable, type MmseqsSource } from './mmseqs.js';

/*
 * Rows that a homolog source adds to an alignment. Each round searches the source with the profile of all homologs so
 * far. The reversed profile is then aligned with the hits: what resembles it does so by its composition or repeats. A
 * hit's E-value is divided by the least E-value of the reversed profile, if that is below 1. By chance alone, the two
 * least E-values are alike: one is a thousand times the other in one of 500 cases. A round whose hits are all known
 * already needs no such control.
 */

/** Alignments without a hit, in the order of the prefilter, after which a search ends. */
const MAX_REJECTED = '300';
/** Largest E-value of the reversed profile that counts. */
const CONTROL_EXPECTED_FALSE_HITS = '1';

interface ListRules extends Pick<HomologRules, 'maxEValue' | 'minCoverage'> {
  /** Largest number of hits of a round. */
  readonly limit: number;
}

interface Workplace {
  readonly threads: number;
  readonly options: FindOptions;
}

/**
 * Lists the homologs of a protein in a homolog source, in at most MSA_MAX_ROUNDS rounds and in ascending order of
 * E-value. A round is the last if it adds nothing to the profile, or if most of its new hits fail the control. A
 * protein has the alignment of the first round that found it.
 * Errors  Refusal `tool_missing`; Fault that quotes mmseqs; errors of the file system; the signal's reason
 */
export async function listByProfiles(
  { sequence, homologs }: HomologSet,
  source: Pick<MmseqsSource, 'database' | 'version'>,
  rules: ListRules,
  place: Workplace,
): Promise<readonly FoundHomolog[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-source-'));
  const rows = new Map<string, string>();
  const enter = (homolog: Homolog): void => {
    const { id, eValue, coverage, identity } = homolog;
    const { maxEValue, minCoverage, maxIdentity } = HOMOLOG_RULES;
    const isNear = eValue <= maxEValue && coverage >= minCoverage && identity <= maxIdentity;
    if (isNear && !rows.has(id)) rows.set(id, columnsOf(homolog, sequence));
  };
  const known = new Set(homologs.map(({ id }) => id));
  const listed = new Map<string, FoundHomolog>();
  try {
    for (const homolog of homologs) enter(homolog);
    for (let round = 1; round <= MSA_MAX_ROUNDS; round += 1) {
      const before = rows.size;
      const inRound = { folder: join(folder, String(round)), round, ...place };
      await mkdir(inRound.folder);
      const isKnown = ({ id }: Homolog): boolean => known.has(id) || listed.has(id);
      const profile = [sequence, ...rows.values()];
      const { hits, isDrifting } = await searchByProfile(profile, source, rules, isKnown, inRound);
      for (const hit of hits) {
        if (!listed.has(hit.id)) listed.set(hit.id, hit);
        enter(hit);
      }
      if (isDrifting || rows.size === before) break;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return [...listed.values()].sort((a, b) => a.eValue - b.eValue || (a.id < b.id ? -1 : 1));
}

/** Letters of a homolog in the columns of the protein; `-` where it has none. */
function columnsOf(homolog: Homolog, sequence: string): string {
  const { start: queryStart, residueStart: targetStart, residues: target } = homolog;
  const cigar = extendedCigar(homolog, sequence);
  const queryLength = sequence.length;
  return a3mRow({ cigar, queryStart, targetStart, queryLength, target }).replaceAll(/[a-z]/g, '');
}

interface RoundHits {
  /** The known hits, and those that pass the control. */
  readonly hits: readonly FoundHomolog[];
  /** Whether most of the hits that are not known fail the control. */
  readonly isDrifting: boolean;
}

/**
 * Searches with the profile of the rows.
 * Errors  as listByProfiles
 */
async function searchByProfile(
  rows: readonly string[],
  { database, version }: Pick<MmseqsSource, 'database' | 'version'>,
  { maxEValue, minCoverage, limit }: ListRules,
  isKnown: (hit: FoundHomolog) => boolean,
  { folder, round, threads, options }: Workplace & { readonly folder: string; readonly round: number },
): Promise<RoundHits> {
  const path = (name: string): string => join(folder, name);
  const run = (...words: readonly string[]): Promise<string> => runMmseqs([...words, '-v', '1'], options);
  const common = ['--threads', String(Math.max(1, threads))];
  const index = version === undefined ? undefined : await findKeptIndex(database, version);
  const target = index?.profiles ?? database;
  const mapped = index === undefined ? [] : ['--db-load-mode', MAPPED];
  const bounds = ['-c', String(minCoverage), '--cov-mode', '2', ...mapped, ...common];
  /** Writes the profile of rows, and returns its path. */
  const profileOf = async (name: string, some: readonly string[]): Promise<string> => {
    const [text, alignment, profile] = [path(`${name}.sto`), path(`${name}-rows`), path(name)];
    await writeFile(text, stockholm(some));
    await run('convertmsa', text, alignment);
    await run('msa2profile', alignment, profile, '--match-mode', '0', ...common);
    return profile;
  };
  /** Writes columns of a result as a table, and returns its path. */
  const tableOf = async (profile: string, result: string, columns: string): Promise<string> => {
    const table = `${result}.tsv`;
    await run('convertalis', profile, database, result, table, '--format-output', columns, ...common);
    return table;
  };
  const profile = await profileOf('forward', rows);
  const result = path('hits');
  const width = ['-s', DEEP_SENSITIVITY, '--max-seqs', String(limit), '--max-rejected', MAX_REJECTED];
  const depth = ['-e', String(maxEValue), '-a', '--split-memory-limit', MEMORY_LIMIT];
  await run('search', profile, target, result, path('scratch'), ...depth, ...width, ...bounds);
  const [hits] = await readTable(await tableOf(profile, result, MMSEQS_COLUMNS), 1, round);
  const fresh = hits.filter((hit) => !isKnown(hit));
  if (fresh.length === 0) return { hits, isDrifting: false };
  const reversed = await profileOf(
    'reversed',
    rows.map((row) => [...row].reverse().join('')),
  );
  await run('align', reversed, target, result, path('control'), '-e', CONTROL_EXPECTED_FALSE_HITS, ...bounds);
  const eValues = await readFile(await tableOf(reversed, path('control'), 'evalue'), 'utf8');
  const least = eValues
    .split('\n')
    .filter(Boolean)
    .reduce((smallest, one) => Math.min(smallest, Number(one)), 1);
  const passing = fresh.filter(({ eValue }) => eValue <= maxEValue * least);
  return { hits: [...hits.filter(isKnown), ...passing], isDrifting: 2 * passing.length < fresh.length };
}

/** An alignment of rows of equal length in Stockholm's format, the query first. Names are numbers. */
function stockholm(rows: readonly string[]): string {
  const lines = rows.map((row, at) => `${at === 0 ? 'q0' : `q0.${at}`} ${row}\n`);
  return `# STOCKHOLM 1.0\n#=GF ID q0\n#=GF AC q0\n${lines.join('')}//\n`;
}
