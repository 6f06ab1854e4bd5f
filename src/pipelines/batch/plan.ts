import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../canonical.js';
import { Fault, ifAbsent, Refusal } from '../../errors.js';
import { BATCH_PACK_MAX_QUERIES } from '../../limits.js';
import { exists, replaceFile } from '../../files.js';
import { hashFile } from '../../release/hashed-file.js';
import { batchesOf } from '../../search/batches.js';
import type { NamedQuery, SearchSettings } from '../../search/search-types.js';
import { damagedFile, readJson } from '../cluster/task-files.js';

/*
 * A batch has a folder, `<output>.work`, which the machines of all its tasks mount:
 *
 *   plan.json                BatchPlan: the search and its division.
 *   queries/<c>.json         the normalised queries of chunk c.
 *   surveys/<c>-<p>.bin      their partial results for partition p of the targets.
 *   results/<c>.parquet      their candidates; replaces the partial results of the chunk.
 *   results/<c>.json         ChunkEnd: their digests; written last, as the mark of a finished chunk.
 *
 * Chunks depend on the queries only, and results on chunk and release only. The numbers of partitions and tasks and the
 * assignment of units to tasks change no byte of the output.
 */

export interface BatchPlan {
  readonly release: { readonly directory: string; readonly id: string; readonly slug: string };
  /** Null where the release has none. A task refuses to search with another one. */
  readonly calibrationId: string | null;
  readonly qualificationId: string | null;
  readonly settings: Omit<SearchSettings, 'targetSpace'>;
  /** As in the contract; null for all targets. */
  readonly filter: unknown;
  readonly parts: number;
  /** Null of the walks, if the hits of each query are propagated. A task refuses to walk with another one. */
  readonly walksId?: string;
  /** Number of the first query of each chunk, ascending from 0. */
  readonly chunkStarts: readonly number[];
  readonly queryCount: number;
}

/** One chunk of the queries and one partition of the targets. */
export interface Unit {
  readonly chunk: number;
  readonly partition: number;
}

/** What a finished chunk adds to the result of the batch, besides its rows. */
export interface ChunkEnd {
  /** Digests of the results, in the order of the queries. */
  readonly digests: readonly string[];
  /** Candidates that have more alignments than the largest count. */
  readonly cutCount: number;
  /** SHA-256 of the file of its rows. Absent of a chunk that an earlier version finished. */
  readonly rowsSha256?: string;
}

const PLAN_FILE = 'plan.json';

/** Returns the paths in the folder of a batch. */
export function batchFolder(path: string) {
  return {
    path,
    plan: join(path, PLAN_FILE),
    queries: (chunk: number): string => join(path, 'queries', `${chunk}.json`),
    partialResult: ({ chunk, partition }: Unit): string => join(path, 'surveys', `${chunk}-${partition}.bin`),
    rows: (chunk: number): string => join(path, 'results', `${chunk}.parquet`),
    end: (chunk: number): string => join(path, 'results', `${chunk}.json`),
  };
}

export type BatchFolder = ReturnType<typeof batchFolder>;

/**
 * Writes the queries chunk by chunk and then the plan. If a plan exists, checks that both are the same. Without a plan,
 * removes what the folder has: remains of another batch whose removal was interrupted.
 * Errors  Refusal `batch_running` where the folder belongs to another batch; those of reading the queries
 */
export async function makePlan(
  folder: BatchFolder,
  described: Omit<BatchPlan, 'chunkStarts' | 'queryCount'>,
  queries: AsyncIterable<NamedQuery>,
): Promise<BatchPlan> {
  const isKnown = await exists(folder.plan);
  for (const name of ['queries', 'surveys', 'results']) {
    const path = join(folder.path, name);
    if (!isKnown) await rm(path, { recursive: true, force: true, maxRetries: 5 });
    await mkdir(path, { recursive: true });
  }
  const chunkStarts: number[] = [];
  let queryCount = 0;
  for await (const chunk of batchesOf(queries, BATCH_PACK_MAX_QUERIES)) {
    const path = folder.queries(chunkStarts.length);
    const text = JSON.stringify(chunk);
    if (isKnown && (await readFile(path, 'utf8').catch(() => '')) !== text) throw refuseOther(folder);
    if (!isKnown) await writeFile(path, text);
    chunkStarts.push(queryCount);
    queryCount += chunk.length;
  }
  const plan: BatchPlan = { ...described, chunkStarts, queryCount };
  if (isKnown && canonicalJson(await readPlan(folder)) !== canonicalJson(plan)) throw refuseOther(folder);
  await replaceFile(folder.plan, JSON.stringify(plan));
  return plan;
}

/** Reads the plan of a batch. Errors  Refusal `batch_not_found`; Fault where it is damaged */
export async function readPlan({ path, plan }: BatchFolder): Promise<BatchPlan> {
  if (await exists(plan)) return readJson<BatchPlan>(plan);
  throw new Refusal('batch_not_found', `There is no batch in ${path}: it is done, or was not begun.`);
}

/** Reads the queries of a chunk. Errors  those of readJson */
export function readQueriesOf(folder: BatchFolder, chunk: number): Promise<readonly NamedQuery[]> {
  return readJson<readonly NamedQuery[]>(folder.queries(chunk));
}

/**
 * Reads the end of a finished chunk. An earlier version wrote its digests only.
 * Errors  Fault where it is damaged; those of the file system
 */
export async function readEndOf(folder: BatchFolder, chunk: number): Promise<ChunkEnd> {
  const end = await readJson<Partial<ChunkEnd> | readonly string[]>(folder.end(chunk));
  if (Array.isArray(end)) return { digests: end as readonly string[], cutCount: 0 };
  const { digests, cutCount } = end as Partial<ChunkEnd>;
  if (Array.isArray(digests) && Number.isInteger(cutCount)) return end as ChunkEnd;
  throw damagedFile(folder.end(chunk));
}

/**
 * Requires the rows of a finished chunk to be those that its task wrote.
 * Errors  Fault where they are missing or damaged; those of the file system
 */
export async function requireRows(
  folder: BatchFolder,
  chunk: number,
  { rowsSha256 }: ChunkEnd,
): Promise<void> {
  const path = folder.rows(chunk);
  const sha256 = await hashFile(path).then((hashed) => hashed.sha256, ifAbsent(undefined));
  if (sha256 !== undefined && sha256 === (rowsSha256 ?? sha256)) return;
  throw new Fault(
    `${path} is ${sha256 === undefined ? 'missing' : 'damaged'}; remove ${folder.end(chunk)} and run the same ` +
      'command again.',
  );
}

/** Lists the units of a batch. Task t of n runs the units at places t, t + n, t + 2n … */
export function unitsOf({ chunkStarts, parts }: BatchPlan): readonly Unit[] {
  return chunkStarts.flatMap((_, chunk) =>
    Array.from({ length: parts }, (__, partition) => ({ chunk, partition })),
  );
}

/**
 * Returns the places of unfinished units, ascending. A chunk that lacks only its merge is listed by its first unit.
 * Errors  none
 */
export async function missingUnits(folder: BatchFolder, plan: BatchPlan): Promise<readonly number[]> {
  const missing: number[] = [];
  for (const chunk of plan.chunkStarts.keys()) {
    if (await exists(folder.end(chunk))) continue;
    const first = chunk * plan.parts;
    const places = Array.from({ length: plan.parts }, (_, partition) => first + partition);
    const areThere = await Promise.all(
      places.map((_, partition) => exists(folder.partialResult({ chunk, partition }))),
    );
    const left = places.filter((_, partition) => !areThere[partition]);
    missing.push(...(left.length > 0 ? left : [first]));
  }
  return missing;
}

function refuseOther({ path }: BatchFolder): Refusal {
  return new Refusal(
    'batch_running',
    `${path} belongs to another batch: repeat that one to its end, name another --output, or remove the folder.`,
  );
}
