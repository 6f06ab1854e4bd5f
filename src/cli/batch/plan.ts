import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../canonical.js';
import { Fault, Refusal } from '../../errors.js';
import { BATCH_PACK_MAX_QUERIES } from '../../limits.js';
import { replaceFile } from '../../release/hashed-file.js';
import type { SearchSettings } from '../../search/search-types.js';
import { batchesOf } from '../../search/batches.js';
import type { NamedQuery } from '../search/report.js';

/*
 * A batch that several machines search has a folder, `<output>.work`, which all of them see:
 *
 *   plan.json                BatchPlan: what is searched, and how it is divided
 *   queries/<c>.json         the normalised queries of chunk c
 *   surveys/<c>-<p>.bin      what part p of the targets has to say of them (search/parts/survey.ts)
 *   results/<c>.parquet      their candidates; the surveys of the chunk are gone by then
 *   results/<c>.json         their digests; written last: where this is, the chunk is done
 *
 * Chunks are a function of the queries alone, and results one of chunk and release: how many parts and tasks there are,
 * and which task did what, changes nothing.
 */

export interface BatchPlan {
  readonly release: { readonly directory: string; readonly id: string; readonly slug: string };
  /** Null where there is none; a search by another would not be the same search. */
  readonly calibrationId: string | null;
  readonly qualificationId: string | null;
  readonly settings: Omit<SearchSettings, 'targetSpace'>;
  /** As the contract has it; null without. */
  readonly filter: unknown;
  readonly parts: number;
  /** Chunks, each with the place of its first query among all. */
  readonly chunkStarts: readonly number[];
  readonly queryCount: number;
}

/** One chunk of the queries and one part of the targets. */
export interface Unit {
  readonly chunk: number;
  readonly part: number;
}

const PLAN_FILE = 'plan.json';

/** Paths in the folder of a batch. */
export function batchFolder(path: string) {
  return {
    path,
    plan: join(path, PLAN_FILE),
    queries: (chunk: number): string => join(path, 'queries', `${chunk}.json`),
    partialResult: ({ chunk, part }: Unit): string => join(path, 'surveys', `${chunk}-${part}.bin`),
    rows: (chunk: number): string => join(path, 'results', `${chunk}.parquet`),
    digests: (chunk: number): string => join(path, 'results', `${chunk}.json`),
  };
}

export type BatchFolder = ReturnType<typeof batchFolder>;

/**
 * Writes the queries chunk by chunk and then the plan, or finds that all of it is there.
 * Errors  Refusal `batch_running` where the folder belongs to another batch; those of reading the queries
 */
export async function makePlan(
  folder: BatchFolder,
  described: Omit<BatchPlan, 'chunkStarts' | 'queryCount'>,
  queries: AsyncIterable<NamedQuery>,
): Promise<BatchPlan> {
  for (const name of ['queries', 'surveys', 'results'])
    await mkdir(join(folder.path, name), { recursive: true });
  const isKnown = await exists(folder.plan);
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

/** Errors  Refusal `batch_not_found` */
export async function readPlan({ path, plan }: BatchFolder): Promise<BatchPlan> {
  if (await exists(plan)) return readJson<BatchPlan>(plan);
  throw new Refusal('batch_not_found', `There is no batch in ${path}: it is done, or was not begun.`);
}

/** A file that a task or the planning has left. Errors  Fault where it is damaged; those of the file system */
export async function readJson<Value>(path: string): Promise<Value> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text) as Value;
  } catch (cause) {
    throw new Fault(`${path} is damaged; remove it, and the same command makes it anew.`, { cause });
  }
}

export function readQueriesOf(folder: BatchFolder, chunk: number): Promise<readonly NamedQuery[]> {
  return readJson<readonly NamedQuery[]>(folder.queries(chunk));
}

/** Every unit of the batch; task t does those whose place is t, t + tasks, t + 2 × tasks … */
export function unitsOf({ chunkStarts, parts }: BatchPlan): readonly Unit[] {
  return chunkStarts.flatMap((_, chunk) => Array.from({ length: parts }, (__, part) => ({ chunk, part })));
}

/** Units that are not done, as places among all. A chunk whose parts are all there is finished by its first unit. */
export async function missingUnits(folder: BatchFolder, plan: BatchPlan): Promise<readonly number[]> {
  const missing: number[] = [];
  for (const chunk of plan.chunkStarts.keys()) {
    if (await exists(folder.digests(chunk))) continue;
    const first = chunk * plan.parts;
    const places = Array.from({ length: plan.parts }, (_, part) => first + part);
    const areThere = await Promise.all(
      places.map((_, part) => exists(folder.partialResult({ chunk, part }))),
    );
    const left = places.filter((_, part) => !areThere[part]);
    missing.push(...(left.length > 0 ? left : [first]));
  }
  return missing;
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function refuseOther({ path }: BatchFolder): Refusal {
  return new Refusal(
    'batch_running',
    `${path} belongs to another batch: repeat that one to its end, name another --output, or remove the folder.`,
  );
}
