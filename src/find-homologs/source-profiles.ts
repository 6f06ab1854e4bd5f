import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extendedCigar, type FoundHomolog, type Homolog, type HomologSet } from '../homologs/homolog-set.js';
import { HOMOLOG_RULES, type HomologRules } from '../homologs/rules.js';
import { MSA_MAX_ROUNDS } from '../limits.js';
import { a3mRow } from '../sequence/a3m.js';
import { findKeptIndex } from './kept-index.js';
import { DEEP_SENSITIVITY, MEMORY_LIMIT, runMmseqs } from './mmseqs-process.js';
import { MAPPED, MMSEQS_COLUMNS, readTable, type MmseqsSource } from './mmseqs.js';

/*
 * Rows that a homolog source adds to an alignment. Each round searches the source with the profile of all homologs so
 * far, and with the same profile reversed. What resembles the reversed profile does so by its composition or repeats.
 * Therefore a hit counts only if its E-value is smaller than all E-values of the reversed profile.
 */

/** The profile and the reversed profile of a round. */
const QUERY_COUNT = 2;

interface ListRules extends Pick<HomologRules, 'maxEValue' | 'minCoverage'> {
  /** Largest number of hits of a round. */
  readonly limit: number;
}

interface Workplace {
  readonly threads: number;
  readonly signal?: AbortSignal;
}

/**
 * Lists the homologs of a protein in a homolog source, in at most MSA_MAX_ROUNDS rounds and in ascending order of
 * E-value. A round that adds nothing to the profile is the last. A protein has the alignment of the first round that
 * found it.
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
  const listed = new Map<string, FoundHomolog>();
  try {
    for (const homolog of homologs) enter(homolog);
    for (let round = 1; round <= MSA_MAX_ROUNDS; round += 1) {
      const before = rows.size;
      const inRound = { folder: join(folder, String(round)), round, ...place };
      await mkdir(inRound.folder);
      const hits = await searchByProfile([sequence, ...rows.values()], source, rules, inRound);
      for (const hit of hits) {
        if (!listed.has(hit.id)) listed.set(hit.id, hit);
        enter(hit);
      }
      if (rows.size === before) break;
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

/**
 * Searches with the profile of the rows and returns the hits that pass its control.
 * Errors  as listByProfiles
 */
async function searchByProfile(
  rows: readonly string[],
  { database, version }: Pick<MmseqsSource, 'database' | 'version'>,
  { maxEValue, minCoverage, limit }: ListRules,
  { folder, round, threads, signal }: Workplace & { readonly folder: string; readonly round: number },
): Promise<readonly FoundHomolog[]> {
  const path = (name: string): string => join(folder, name);
  const run = (...words: readonly string[]): Promise<string> => runMmseqs([...words, '-v', '1'], { signal });
  const common = ['--threads', String(Math.max(1, threads))];
  const reversed = rows.map((row) => [...row].reverse().join(''));
  await writeFile(path('rows.sto'), stockholm('q0', rows) + stockholm('q1', reversed));
  await run('convertmsa', path('rows.sto'), path('rows'));
  await run('msa2profile', path('rows'), path('profiles'), '--match-mode', '0', ...common);
  const index = version === undefined ? undefined : await findKeptIndex(database, version);
  const mapped = index === undefined ? [] : ['--db-load-mode', MAPPED];
  const bounds = ['-s', DEEP_SENSITIVITY, '-e', String(maxEValue), '--max-seqs', String(limit)];
  const cover = ['-c', String(minCoverage), '--cov-mode', '2', '-a', '--split-memory-limit', MEMORY_LIMIT];
  const result = path('result');
  const searched = [path('profiles'), index?.profiles ?? database, result, path('scratch')];
  await run('search', ...searched, ...bounds, ...cover, ...mapped, ...common);
  const files = [path('profiles'), database, result, path('table.tsv')];
  await run('convertalis', ...files, '--format-output', MMSEQS_COLUMNS, ...common);
  const [hits, ofReversed] = await readTable(path('table.tsv'), QUERY_COUNT, round);
  const least = ofReversed.reduce((smallest, { eValue }) => Math.min(smallest, eValue), Infinity);
  return hits.filter(({ eValue }) => eValue < least);
}

/** An alignment of rows of equal length in Stockholm's format, the query first. Names are numbers. */
function stockholm(name: string, rows: readonly string[]): string {
  const lines = rows.map((row, at) => `${at === 0 ? name : `${name}.${at}`} ${row}\n`);
  return `# STOCKHOLM 1.0\n#=GF ID ${name}\n#=GF AC ${name}\n${lines.join('')}//\n`;
}
