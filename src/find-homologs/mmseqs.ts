import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Fault, Refusal } from '../errors.js';
import { cropOf, type FoundHomolog } from '../homologs/homolog-set.js';
import type { HomologQuery, ListHomologs, HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import { listHomologs, selectRounds } from '../homologs/select.js';
import { GIBIBYTE_BYTES, MEBIBYTE_BYTES } from '../limits.js';
import { signalGroup } from '../processes.js';

/** A child that takes longer is stopped, whatever it was given. */
const CHILD_MAX_MS = 12 * 60 * 60 * 1000;
const TABLE_MAX_BYTES = 8 * GIBIBYTE_BYTES;
const COMPLAINT_MAX_BYTES = MEBIBYTE_BYTES / 16;
const MEMORY_LIMIT = '8G';
/** A child reads the background's index anew, so that few large calls cost least. */
const BATCH_PROTEINS = 2_000;
/** Hits of a protein that are looked at to make its tokens. */
const MAX_HITS = 300;
/** The default sensitivity, named because results follow from it. */
const SENSITIVITY = '5.7';

/** A background that mmseqs searches. */
export interface MmseqsSource {
  /** Path of its database, as createdb left it. */
  readonly database: string;
  /** 1, or 2: the profiles of what the first search finds are searched again. */
  readonly rounds: number;
}

/** Version of the installed mmseqs; undefined where there is none. */
export async function mmseqsVersion(): Promise<string | undefined> {
  try {
    return (await runMmseqs(['version'], {})).trim();
  } catch {
    return undefined;
  }
}

/**
 * Relatives by mmseqs, with its masking of low complexity and its correction for composition.
 * Errors  Refusal `tool_missing`; Fault with what it complained of where it fails; the signal's reason
 */
export function mmseqsHomologs(
  homologSource: MmseqsSource,
  rules: HomologRules,
  threads: number,
): HomologFinder & { readonly list: ListHomologs } {
  /** Of each round those of each protein. */
  const searchRounds = async (
    proteins: readonly HomologQuery[],
    maxHits: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly (readonly FoundHomolog[][])[]> => {
    const folder = await mkdtemp(join(tmpdir(), 'gloaming-mmseqs-'));
    try {
      const place = { folder, threads, signal };
      const tables = await searchHomologSource(proteins, homologSource, { ...rules, maxHits }, place);
      const rounds: (readonly FoundHomolog[][])[] = [];
      for (const [at, table] of tables.entries())
        rounds.push(await readTable(table, proteins.length, at + 1));
      return rounds;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  return {
    batchProteins: BATCH_PROTEINS,
    async find(proteins, { signal } = {}) {
      const rounds = await searchRounds(proteins, MAX_HITS, signal);
      return proteins.map(({ sequence }, index) =>
        selectRounds(
          sequence,
          rounds.map((found) => found[index]),
          rules,
        ),
      );
    },
    async list(sequence, limit, { signal } = {}) {
      const rounds = await searchRounds([{ sequence }], limit, signal);
      return listHomologs(
        rounds.flatMap(([found]) => found),
        rules,
      ).slice(0, limit);
    },
  };
}

interface Workplace {
  readonly folder: string;
  readonly threads: number;
  readonly signal?: AbortSignal;
}

interface SearchRules extends Pick<HomologRules, 'maxEValue' | 'minCoverage'> {
  readonly maxHits: number;
}

/**
 * A table of hits for each round, a line for each; queries are named by their place, so that no id is anybody's file or
 * option.
 */
async function searchHomologSource(
  proteins: readonly HomologQuery[],
  { database, rounds }: MmseqsSource,
  { maxEValue, minCoverage, maxHits }: SearchRules,
  { folder, threads, signal }: Workplace,
): Promise<readonly string[]> {
  const path = (name: string): string => join(folder, name);
  const common = ['--threads', String(Math.max(1, threads)), '-v', '1'];
  const hits = ['-s', SENSITIVITY, '-e', String(maxEValue), '--max-seqs', String(maxHits)];
  const cover = ['-c', String(minCoverage), '--cov-mode', '2', '-a'];
  const memory = ['--split-memory-limit', MEMORY_LIMIT];
  const search = async (queries: string, result: string): Promise<void> => {
    const scratch = path(`${result}-scratch`);
    await mkdir(scratch);
    const files = [path(queries), database, path(result), scratch];
    await runMmseqs(['search', ...files, ...hits, ...cover, ...memory, ...common], { signal });
  };
  const fasta = proteins.map(({ sequence }, index) => `>q${index}\n${sequence}\n`).join('');
  await writeFile(path('queries.fasta'), fasta);
  await runMmseqs(['createdb', path('queries.fasta'), path('queries'), '-v', '1'], { signal });
  const tables: string[] = [];
  for (let round = 1, queries = 'queries'; ; round += 1) {
    const [result, table, profiles] = [`result${round}`, `table${round}.tsv`, `profiles${round}`];
    await search(queries, result);
    const files = [path(queries), database, path(result)];
    await runMmseqs(['convertalis', ...files, path(table), '--format-output', MMSEQS_COLUMNS, ...common], {
      signal,
    });
    tables.push(path(table));
    if (round >= rounds) return tables;
    await runMmseqs(['result2profile', ...files, path(profiles), ...common], { signal });
    queries = profiles;
  }
}

/** What a line of a table has. */
export const MMSEQS_COLUMNS = 'query,target,evalue,fident,qstart,qend,qlen,tstart,tend,cigar,tseq';

/** Relatives of each query by its place. */
async function readTable(path: string, queries: number, round: number): Promise<readonly FoundHomolog[][]> {
  const { size } = await stat(path);
  if (size > TABLE_MAX_BYTES)
    throw new Fault(`mmseqs wrote ${size} bytes of hits; fewer proteins at once may go.`);
  const found: FoundHomolog[][] = Array.from({ length: queries }, () => []);
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const { query, homolog } = parseMmseqsLine(line, round);
    if (found[query] === undefined) throw unreadable(line);
    found[query].push(homolog);
  }
  return found;
}

/**
 * One line of the table; its positions are one-based with inclusive ends.
 * Errors  Fault where it has another form
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
  return new Fault(`mmseqs answered with a line that is no alignment: ${line.slice(0, 200)}`);
}

const INTERRUPTIONS = ['SIGINT', 'SIGTERM'] as const;

/** Runs mmseqs to its end; what it prints. */
export async function runMmseqs(
  args: readonly string[],
  { signal }: { readonly signal?: AbortSignal },
): Promise<string> {
  signal?.throwIfAborted();
  // A search is a script with processes of its own: all of them end, and only then may its folder go.
  const child = spawn('mmseqs', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ending = new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause: NodeJS.ErrnoException) => reject(cause.code === 'ENOENT' ? missing() : cause));
    child.on('close', resolve);
  });
  const end = (): void => signalGroup(child, 'SIGKILL');
  // A group of its own does not hear the terminal's Ctrl-C.
  const interrupted = (name: NodeJS.Signals): void => {
    end();
    if (process.listenerCount(name) === 0) process.kill(process.pid, name);
  };
  for (const name of INTERRUPTIONS) process.once(name, interrupted);
  const tooLong = setTimeout(end, CHILD_MAX_MS);
  signal?.addEventListener('abort', end);
  const said = { stdout: '', stderr: '' };
  // Where this process has no file descriptors left the child has no streams, and only its error tells.
  const streams: Partial<Record<keyof typeof said, Readable>> = child;
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name]?.setEncoding('utf8').on('data', (text: string) => {
      if (said[name].length < COMPLAINT_MAX_BYTES) said[name] += text;
    });
  }
  const status = await ending.finally(() => {
    clearTimeout(tooLong);
    for (const name of INTERRUPTIONS) process.off(name, interrupted);
    signal?.removeEventListener('abort', end);
  });
  signal?.throwIfAborted();
  if (status === 0) return said.stdout;
  const complaint = (said.stderr || said.stdout).trim().slice(-1_000);
  throw new Fault(`mmseqs ${args[0]} failed: ${complaint || 'it was stopped, or ran longer than 12 hours'}`);
}

function missing(): Refusal {
  return new Refusal(
    'tool_missing',
    'mmseqs is not installed here (Debian and Ubuntu: apt-get install mmseqs2).',
  );
}
