import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

/*
 * Profiles of domains by mmseqs and HH-suite, and searches of one profile in a set of them by hhsearch. Each process
 * has one thread. Every step writes files that a later run reuses.
 *
 * The homologs come from two rounds of mmseqs, as in src/find-homologs/mmseqs.ts. hhmake keeps rows of at most 90 %
 * identity that cover half of the domain. No secondary structure is used.
 */

const run = promisify(execFile);
const MMSEQS_SEARCH = ['-s', '5.7', '-e', '1e-5', '--max-seqs', '300', '-c', '0.5', '--cov-mode', '2', '-a'];
const MMSEQS_COMMON = ['--threads', '1', '-v', '1'];
const HHMAKE = ['-v', '0', '-seq', '2', '-id', '90', '-cov', '50', '-i', 'stdin', '-o'];
/** Every target is scored by one Viterbi alignment, without a prefilter and without a list of alignments. */
const HHSEARCH = '-v 1 -cpu 1 -p 0 -E 1e9 -Z 100000 -z 1 -b 0 -B 0 -norealign -alt 1 -e 0 -o /dev/null'.split(
  ' ',
);

/** One scored pair of profiles. */
export interface ProfileHit {
  readonly query: string;
  readonly target: string;
  /** P-value of the pair by hhsearch. Unit: −log₂ */
  readonly bits: number;
  /** Probability of homology by hhsearch. Unit: % */
  readonly probability: number;
  /** Number of aligned columns. */
  readonly columns: number;
}

/** Returns whether mmseqs and HH-suite can be run. Errors: none */
export async function hasProfileTools(): Promise<boolean> {
  const runs = ['mmseqs', 'hhmake', 'hhsearch'].map((program) => run(program, ['-h']));
  return Promise.all(runs).then(
    () => true,
    () => false,
  );
}

/**
 * Writes the alignment of each domain with its homologs: an mmseqs database of A3M files.
 * @param source  FASTA of the homolog source
 * @returns path of the database
 * Errors  those of mmseqs and the file system
 */
export async function alignHomologs(
  domains: readonly BenchProtein[],
  source: string,
  folder: string,
): Promise<string> {
  const at = (name: string): string => join(folder, name);
  const mmseqs = (...words: readonly string[]): Promise<unknown> => run('mmseqs', words);
  const [proteins, background] = [at('proteins'), at('background')];
  // The index is written last, and renamed, so that an aborted run leaves no complete database.
  if (existsSync(at('msa.complete'))) return at('msa');
  await mkdir(folder, { recursive: true });
  await writeFasta(at('proteins.fasta'), domains);
  await mmseqs('createdb', source, background, '-v', '1');
  await mmseqs('createdb', at('proteins.fasta'), proteins, '-v', '1', '--shuffle', '0');
  const search = async (queries: string, result: string): Promise<unknown> => {
    await mkdir(`${result}-scratch`, { recursive: true });
    const files = [queries, background, result, `${result}-scratch`];
    return mmseqs('search', ...files, ...MMSEQS_SEARCH, ...MMSEQS_COMMON);
  };
  await search(proteins, at('result1'));
  await mmseqs('result2profile', proteins, background, at('result1'), at('profiles'), ...MMSEQS_COMMON);
  await search(at('profiles'), at('result2'));
  const files = [proteins, background, at('result2'), at('msa')];
  await mmseqs('result2msa', ...files, '--msa-format-mode', '5', ...MMSEQS_COMMON);
  await writeFile(at('msa.complete'), '');
  return at('msa');
}

/**
 * Writes a profile for each domain from its alignment, or from the domain alone if mmseqs found no homolog.
 * @param alignments  path of an mmseqs database of A3M files
 * Errors  those of hhmake and the file system
 */
export async function writeProfiles(
  domains: readonly BenchProtein[],
  alignments: string,
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const texts = await readAlignments(alignments);
  for (const { id, sequence } of domains) {
    const path = profilePath(folder, id);
    if (existsSync(path)) continue;
    await runWithInput('hhmake', [...HHMAKE, `${path}.part`], texts.get(id) ?? `>${id}\n${sequence}\n`);
    await rename(`${path}.part`, path);
  }
}

/** Returns the path of a domain's profile. */
export function profilePath(folder: string, id: string): string {
  return join(folder, `${id}.hhm`);
}

/** Reads an mmseqs database of A3M files. Returns the texts by the first word of the first header. */
export async function readAlignments(path: string): Promise<ReadonlyMap<string, string>> {
  const data = await readFile(path);
  const texts = new Map<string, string>();
  for (const line of (await readFile(`${path}.index`, 'utf8')).split('\n').filter(Boolean)) {
    const [, offset, length] = line.split('\t').map(Number);
    // An entry ends with a zero byte.
    const text = data.toString('utf8', offset, offset + length - 1);
    if (text.startsWith('>')) texts.set(text.slice(1).split(/\s/, 1)[0], text);
  }
  return texts;
}

async function runWithInput(program: string, words: readonly string[], input: string): Promise<void> {
  const child = spawn(program, words, { stdio: ['pipe', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (bytes: Buffer) => (complaint = (complaint + bytes.toString()).slice(-500)));
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${complaint}`);
}

/**
 * Writes an HH-suite database of these profiles. hhsearch reads names and lengths from the file of column states, and
 * nothing else, so that this file holds one arbitrary letter per column.
 * @returns path prefix for `hhsearch -d`
 * Errors  those of the file system
 */
export async function writeDatabase(
  domains: readonly BenchProtein[],
  profiles: string,
  prefix: string,
): Promise<string> {
  // hhsearch aligns profiles of like length together.
  const ordered = [...domains].sort(
    (a, b) => b.sequence.length - a.sequence.length || (a.id < b.id ? -1 : 1),
  );
  const states = ordered.map(({ id, sequence }) => [id, Buffer.from('A'.repeat(sequence.length))] as const);
  await writeEntries(`${prefix}_cs219`, states);
  const texts: Entry[] = [];
  for (const { id } of ordered) texts.push([id, await readFile(profilePath(profiles, id))]);
  await writeEntries(`${prefix}_hhm`, texts);
  const rows = ordered.map(({ id, sequence }) => [id, Buffer.from(`>${id}\n${sequence}\n`)] as const);
  await writeEntries(`${prefix}_a3m`, rows);
  return prefix;
}

/** Name and content of an entry of an ffindex. */
export type Entry = readonly [name: string, content: Buffer];

/**
 * Writes an ffindex: entries that end with a zero byte, in the order of the list, and their places by name, because
 * readers look names up by bisection.
 * @param path  without its endings
 * Errors  those of the file system
 */
export async function writeEntries(path: string, entries: readonly Entry[]): Promise<void> {
  const [parts, places]: [Buffer[], string[]] = [[], []];
  let offset = 0;
  for (const [name, content] of entries) {
    const entry = Buffer.concat([content, Buffer.from([0])]);
    parts.push(entry);
    places.push(`${name}\t${offset}\t${entry.length}\n`);
    offset += entry.length;
  }
  await writeFile(`${path}.ffdata`, Buffer.concat(parts));
  await writeFile(`${path}.ffindex`, places.sort().join(''));
}

/**
 * Writes a database of some profiles of another database. Only the list of column states differs.
 * Errors  those of the file system
 */
export async function writeSubset(database: string, ids: ReadonlySet<string>, prefix: string): Promise<void> {
  for (const part of ['_hhm.ffdata', '_hhm.ffindex', '_a3m.ffdata', '_a3m.ffindex', '_cs219.ffdata']) {
    if (!existsSync(prefix + part)) await symlink(database + part, prefix + part);
  }
  const lines = (await readFile(`${database}_cs219.ffindex`, 'utf8')).split('\n');
  const chosen = lines.filter((line) => ids.has(line.split('\t', 1)[0]));
  await writeFile(`${prefix}_cs219.ffindex`, chosen.map((line) => `${line}\n`).join(''));
}

/**
 * Scores a profile against all profiles of a database.
 * Errors  those of hhsearch
 */
export async function searchProfiles(
  query: string,
  profiles: string,
  database: string,
  scratch: string,
): Promise<readonly ProfileHit[]> {
  await run('hhsearch', [
    '-i',
    profilePath(profiles, query),
    '-d',
    database,
    '-scores',
    scratch,
    ...HHSEARCH,
  ]);
  return parseScores(query, await readFile(scratch, 'utf8'));
}

/**
 * Reads a file of `hhsearch -scores`. Columns: TARGET FAMILY REL LEN COL LOG-PVA S-AASS PROBAB SCORE LOG-EVAL. FAMILY
 * may be empty, so that cells are counted from the end.
 */
export function parseScores(query: string, text: string): readonly ProfileHit[] {
  const lines = text.split('\n').filter(Boolean);
  return lines.slice(lines.findIndex((line) => line.startsWith('TARGET')) + 1).map((line) => {
    const cells = line.trim().split(/\s+/);
    const [columns, bits, , probability] = cells.slice(-6).map(Number);
    return { query, target: cells[0], bits, probability, columns };
  });
}
