import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../canonical.js';
import type { ApplianceConfig } from '../../config.js';
import { readEvidenceIds } from '../../engine/open-engine.js';
import { probabilitiesOf } from '../../engine/probabilities.js';
import { Refusal } from '../../errors.js';
import { BATCH_MAX_TASKS, GIBIBYTE_BYTES } from '../../limits.js';
import { holdLock } from '../../processes.js';
import { openRelease } from '../../release/open.js';
import type { NamedQuery, SearchSettings } from '../../search/search-types.js';
import { refuseVainDatabaseSize, refuseWithoutProbability } from '../../search/refusals.js';
import { readWalksId } from '../../services/search/propagation.js';
import { joinParquet } from '../../sql/join-parquet.js';
import { openCatalog, selectOneRelease } from '../catalog.js';
import { writerName } from '../cluster/slurm.js';
import {
  checkTask,
  runUnitsByTasks,
  runUnitsHere,
  type PendingTasks,
  type TaskOptions,
} from '../cluster/units.js';
import type { PipelineEvents } from '../events/notices.js';
import {
  batchFolder,
  makePlan,
  missingUnits,
  readEndOf,
  readPlan,
  requireRows,
  unitsOf,
  type BatchFolder,
  type BatchPlan,
} from './plan.js';
import { runUnits } from './task.js';

export interface BatchOptions {
  /** Slug of a database, or a release id. */
  readonly database: string;
  /** Absolute path of the Parquet file. */
  readonly output: string;
  readonly settings: Omit<SearchSettings, 'targetSpace'>;
  /** As in the contract; null for all targets. */
  readonly filter: unknown;
  /** Partitions of the targets. Default 1. */
  readonly parts?: number;
  /** Memory for the tokens of one partition; excludes `parts`. Unit: GiB */
  readonly memory?: number;
  /** Whether the hits of each query are propagated. Default: false. */
  readonly propagates?: boolean;
  /** Divides the batch among tasks; absent where this process searches. */
  readonly tasks?: TaskOptions;
}

export type BatchResult =
  /** All chunks are in the output file. */
  | {
      readonly kind: 'searched';
      readonly slug: string;
      readonly releaseId: string;
      readonly queryCount: number;
      /** Chain of the digests of all results, in the order of the queries. */
      readonly resultSha256: string;
      /** Candidates that have more alignments than the largest count; 0 without one. */
      readonly cutCount: number;
    }
  | ({ readonly kind: 'divided' } & PendingTasks);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Searches many queries, here or by tasks of a cluster, and joins the results into one Parquet file. A repeated call
 * resumes. The file depends on the queries and the release only: neither on partitions nor on tasks. Notice:
 * `job_submitted`. Stage: `compare`.
 * Errors  Refusal `database_not_found`, `invalid_option`, `batch_running`, `calibration_changed`,
 *         `significance_unavailable`, `propagation_unavailable`; those of the queries; Faults of search and disk; the
 *         signal's reason
 */
export async function searchBatch(
  queries: AsyncIterable<NamedQuery>,
  options: BatchOptions,
  config: ApplianceConfig,
  environment: Environment,
  events: PipelineEvents,
): Promise<BatchResult> {
  const described = await describeBatch(options, config);
  const folder = batchFolder(`${options.output}.work`);
  await mkdir(dirname(options.output), { recursive: true });
  const unlock = await lockBatch(folder);
  try {
    const plan = await makePlan(folder, described, queries);
    const session = { folder, plan, config, events };
    if (options.tasks === undefined) {
      await searchHere(session, writerName(environment));
    } else {
      const pending = await searchByTasks(session, options.tasks);
      if (pending !== undefined) return pending;
    }
    return await collect(session, options.output);
  } finally {
    await unlock();
  }
}

/** Excludes other batches with the same output. The lock lies beside the folder, which the end of the batch removes. */
function lockBatch({ path }: BatchFolder): Promise<() => Promise<void>> {
  return holdLock(`${path}.lock`, (pid) => {
    const message = `This batch is being searched by process ${pid}; wait until it is done, or name another --output.`;
    return new Refusal('batch_running', message, { pid });
  });
}

/**
 * Runs one task of a planned batch. Returns its number of units.
 * @param task  0..taskCount−1
 * Errors  Refusal `invalid_option` for a task out of range, `batch_not_found`; those of runUnits
 */
export async function runBatchTask(
  path: string,
  taskCount: number,
  task: number,
  config: ApplianceConfig,
  environment: Environment,
): Promise<number> {
  checkTask(task, taskCount);
  const folder = batchFolder(path);
  const places = unitsOf(await readPlan(folder))
    .map((_, place) => place)
    .filter((place) => place % taskCount === task);
  await runUnits(folder, { places, name: writerName(environment) }, config);
  return places.length;
}

/** Resolves the release and its evidence. Only this step reads the catalog: tasks read the plan. */
function describeBatch(
  options: BatchOptions,
  config: ApplianceConfig,
): Promise<Omit<BatchPlan, 'chunkStarts' | 'queryCount'>> {
  return openCatalog(config, async (catalog) => {
    const { directory, id, slug } = selectOneRelease(catalog, options.database);
    const release = await openRelease(directory);
    const { targets, manifest } = release;
    const { calibrationId, qualificationId } = await readEvidenceIds(directory, {
      id,
      targetCount: targets.count,
    });
    const { relatives: homologs, ...settings } = options.settings;
    const isCalibrated = calibrationId !== null;
    refuseVainDatabaseSize(settings, isCalibrated);
    if (settings.probability === 'required') {
      const hasTable = (await probabilitiesOf(manifest, config)) !== undefined;
      refuseWithoutProbability(settings, { isCalibrated, hasTable, manifest });
    }
    const walksId = options.propagates === true ? await readWalksId(release, calibrationId) : undefined;
    return {
      release: { directory, id, slug },
      calibrationId,
      qualificationId,
      settings: { ...settings, ...(manifest.relatives !== undefined && { relatives: homologs }) },
      filter: options.filter,
      parts: partsOf(options, manifest.files.tokens.size_bytes),
      ...(walksId !== undefined && { walksId }),
    };
  });
}

/**
 * Returns the number of partitions: the given one, or the smallest whose tokens fit the given memory.
 * @param tokenBytes  size of all tokens
 * Errors  Refusal `invalid_option` where both are given, or the number is out of range
 */
export function partsOf(
  { parts, memory }: Pick<BatchOptions, 'parts' | 'memory'>,
  tokenBytes: number,
): number {
  const count = memory === undefined ? (parts ?? 1) : Math.ceil(tokenBytes / (memory * GIBIBYTE_BYTES));
  if (count >= 1 && count <= BATCH_MAX_TASKS && (parts === undefined || memory === undefined)) return count;
  throw new Refusal(
    'invalid_option',
    `A batch has 1 to ${BATCH_MAX_TASKS} parts: by --parts, or by a --memory of ` +
      `${(tokenBytes / GIBIBYTE_BYTES / BATCH_MAX_TASKS).toPrecision(2)} GiB at least.`,
  );
}

interface Session {
  readonly folder: BatchFolder;
  readonly plan: BatchPlan;
  readonly config: ApplianceConfig;
  readonly events: PipelineEvents;
}

function searchHere({ folder, plan, config, events }: Session, name: string): Promise<void> {
  return runUnitsHere(unitsToRun(folder, plan), events, (places, onUnit) =>
    runUnits(folder, { places, name, signal: events.signal, onUnit }, config),
  );
}

function unitsToRun(folder: BatchFolder, plan: BatchPlan) {
  return { unitCount: unitsOf(plan).length, missingUnits: () => missingUnits(folder, plan) };
}

/** Submits the search to Slurm and waits. Without a submission, returns the tasks to submit. */
async function searchByTasks(
  { folder, plan, config, events }: Session,
  tasks: TaskOptions,
): Promise<BatchResult | undefined> {
  const pending = await runUnitsByTasks(
    {
      script: join(folder.path, 'search.sbatch'),
      job: {
        name: `gloaming-${plan.release.slug}`,
        command: [...tasks.program, 'batch', 'task', folder.path, String(tasks.count)],
        environment: { GLOAMING_INDEXES: config.indexesFolder },
        logFolder: folder.path,
      },
      ...unitsToRun(folder, plan),
    },
    tasks,
    events,
  );
  return pending && { kind: 'divided', ...pending };
}

/** Joins the chunks in their order and removes the folder. Errors  those of readEndOf, requireRows and joinParquet */
async function collect({ folder, plan }: Session, output: string): Promise<BatchResult> {
  let chain = sha256Hex('');
  let cutCount = 0;
  for (const chunk of plan.chunkStarts.keys()) {
    const end = await readEndOf(folder, chunk);
    await requireRows(folder, chunk, end);
    for (const digest of end.digests) chain = sha256Hex(chain + digest);
    cutCount += end.cutCount;
  }
  await joinParquet([...plan.chunkStarts.keys()].map(folder.rows), output);
  await rm(folder.path, { recursive: true, maxRetries: 5 });
  const { slug, id: releaseId } = plan.release;
  return { kind: 'searched', slug, releaseId, queryCount: plan.queryCount, resultSha256: chain, cutCount };
}
