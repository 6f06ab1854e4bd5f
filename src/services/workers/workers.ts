import { linkAborts } from '../../abort.js';
import { Fault, Refusal } from '../../errors.js';
import { WORKER_DEPRIORITISED_MS, WORKER_RETRY_SECONDS } from '../../limits.js';
import { scanPartialResults } from '../../search/partitions/merge.js';
import {
  scanEncoded,
  targetRanges,
  type PartialResult,
  type PartialResultSettings,
  type TargetRange,
} from '../../search/partitions/scan.js';
import { requireWhole, partialResultCounts } from '../../search/partitions/whole.js';
import { decodePartialResults, writtenBytes } from '../../search/partitions/encoding.js';
import { nearestPartial } from '../../search/exhaustive.js';
import { sweptPartial } from '../../search/prefiltered.js';
import type {
  EncodedQuery,
  PartialScan,
  Scan,
  ScannedTargets,
  ScanWork,
  SearchSettings,
} from '../../search/search-types.js';
import type { WorkerSettings } from '../../config.js';
import type { World } from '../../world.js';
import { hedgedRequest, Superseded } from './hedged-request.js';
import type { PartialResultRequest } from './partial-result-request.js';
import { createResponseTimes, type ResponseTimes } from './response-times.js';
import { connectWorker, WorkerRefusal, type WorkerConnection } from './worker-connection.js';

/** The workers of a coordinator: other appliances that scan partitions of the targets for it. */
export interface Workers {
  /**
   * Scans a release through the workers. The result has the same bits as a local scan.
   * Errors  Refusal `worker_unavailable` if no worker responds for a partition and the settings forbid a local scan;
   *         `start_deadline_exceeded`; Faults of a local scan; the signal's reason
   */
  readonly scan: Scan;
  /** Requests since the start, by worker and outcome. The worker `here` counts partitions scanned locally instead. */
  counts(): readonly WorkerCount[];
  /** Adds a listener, which is called for each failure of a worker. */
  watch(listener: (failure: WorkerFailure) => void): void;
  close(): void;
}

export interface WorkerCount {
  readonly worker: string;
  readonly outcome: 'answered' | 'failed' | 'outrun';
  readonly count: number;
}

export interface WorkerFailure {
  /** Address of the worker. */
  readonly worker: string;
  /** Number of the partition; ≥ 1. */
  readonly partition: number;
  readonly cause: unknown;
}

type WorkerWorld = Pick<World, 'setTimer' | 'monotonicMs'>;

/** Errors  Refusal `invalid_config` if a file of the settings cannot be used */
export function createWorkers(settings: WorkerSettings, world: WorkerWorld): Workers {
  const listeners: ((failure: WorkerFailure) => void)[] = [];
  const counts = new Map<string, Record<WorkerCount['outcome'], number>>();
  const countOf = (worker: string) => {
    const outcomes = counts.get(worker) ?? { answered: 0, failed: 0, outrun: 0 };
    counts.set(worker, outcomes);
    return outcomes;
  };
  const workers = settings.nodes.map(({ url, parts, ...files }): Worker => {
    const connection = connectWorker({ url, parts, ...files });
    return { url, parts, connection, pendingCount: 0, deprioritisedUntilMs: -Infinity };
  });
  const coordinator: CoordinatorState = {
    ...settings,
    world,
    workers,
    times: { direct: createResponseTimes(), lowPriority: createResponseTimes() },
    count: (worker, outcome) => (countOf(worker)[outcome] += 1),
    report: (failure) => listeners.forEach((listener) => listener(failure)),
  };
  return {
    scan(queries, searched, work) {
      const merged = async (partial: PartialScan): Promise<ScannedTargets> => {
        const partialResults = await scanPartitions(queries, searched, partial, work, coordinator);
        return scanPartialResults(partialResults)(queries, searched, work);
      };
      return {
        nearest: async () => (await merged(nearestPartial(searched.limit))).nearest(),
        sweep: async (counts) => (await merged(sweptPartial(counts))).sweep(counts),
      };
    },
    counts: () =>
      [...counts].flatMap(([worker, outcomes]) =>
        Object.entries(outcomes).map(([outcome, count]) => ({
          worker,
          outcome: outcome as WorkerCount['outcome'],
          count,
        })),
      ),
    watch: (listener) => void listeners.push(listener),
    close: () => workers.forEach(({ connection }) => connection.close()),
  };
}

interface Worker {
  readonly url: string;
  readonly parts: readonly number[];
  readonly connection: WorkerConnection;
  /** Requests without a response yet. */
  pendingCount: number;
  /** Until this monotonic time, after a failure, requests go to other workers first. */
  deprioritisedUntilMs: number;
}

interface CoordinatorState extends Pick<WorkerSettings, 'partCount' | 'onError' | 'timeoutMs'> {
  readonly world: WorkerWorld;
  readonly workers: readonly Worker[];
  /** Interactive searches and batches of runs have different response times, so they are measured apart. */
  readonly times: Readonly<Record<'direct' | 'lowPriority', ResponseTimes>>;
  readonly count: (worker: string, outcome: WorkerCount['outcome']) => void;
  readonly report: (failure: WorkerFailure) => void;
}

/** Data that all partitions of one search share. */
interface Job {
  readonly queries: readonly EncodedQuery[];
  readonly settings: PartialResultSettings;
  readonly work: ScanWork;
  readonly request: Omit<PartialResultRequest, 'part'>;
  readonly times: ResponseTimes;
}

interface Partition extends TargetRange {
  /** 1..partCount. */
  readonly number: number;
}

async function scanPartitions(
  queries: readonly EncodedQuery[],
  searched: SearchSettings,
  partial: PartialScan,
  work: ScanWork,
  coordinator: CoordinatorState,
): Promise<readonly (readonly PartialResult[])[]> {
  const { engine, options } = work;
  const { targetSpace, limit, relatives: homologs = 'as_release' } = searched;
  const { sampled } = partial;
  const request = {
    release_id: engine.release.id,
    kernels_version: engine.backend.version,
    part_count: coordinator.partCount,
    filter: targetSpace.canonicalFilter ?? null,
    limit,
    sampled: sampled ? { nearest_count: sampled.nearestCount, striking_count: sampled.localCount } : null,
    relatives: homologs,
    is_background: engine.isLowPriority ?? false,
    sequences: queries.map(({ sequence }) => sequence),
  };
  const times = coordinator.times[request.is_background ? 'lowPriority' : 'direct'];
  const job = { queries, settings: { targetSpace, partial }, work, request, times };
  const ranges = targetRanges(engine.release, coordinator.partCount);
  // The failure of one partition cancels the requests for all others.
  const ending = linkAborts(...(options.signal ? [options.signal] : []));
  try {
    return await Promise.all(
      ranges.map((range, index) =>
        scanPartition({ ...range, number: index + 1 }, job, coordinator, ending.signal),
      ),
    );
  } catch (cause) {
    ending.abort(cause);
    throw cause;
  } finally {
    ending.release();
  }
}

async function scanPartition(
  partition: Partition,
  job: Job,
  coordinator: CoordinatorState,
  signal: AbortSignal,
): Promise<readonly PartialResult[]> {
  const { queries, settings, work, request, times } = job;
  const { world, onError } = coordinator;
  const holders = coordinator.workers.filter(({ parts }) => parts.includes(partition.number));
  const nowMs = world.monotonicMs();
  const rank = ({ deprioritisedUntilMs }: Worker): number => (deprioritisedUntilMs > nowMs ? 1 : 0);
  holders.sort((a, b) => rank(a) - rank(b) || a.pendingCount - b.pendingCount);
  const body = JSON.stringify({ ...request, part: partition.number } satisfies PartialResultRequest);
  const afterMs = times.percentile95Ms();
  try {
    return await hedgedRequest(
      holders.map(
        (worker) => (ending) => requestPartition(worker, body, partition, job, coordinator, ending),
      ),
      { afterMs, world, signal },
    );
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    if (onError === 'fail') throw refusalOf(error.errors, partition, coordinator);
    coordinator.count('here', 'answered');
    return scanEncoded(queries, settings, partition, work.engine, { ...work.options, signal });
  }
}

async function requestPartition(
  worker: Worker,
  body: string,
  partition: Partition,
  job: Job,
  coordinator: CoordinatorState,
  signal: AbortSignal,
): Promise<readonly PartialResult[]> {
  const { queries, settings, work, times } = job;
  const { url, connection } = worker;
  const { world, timeoutMs } = coordinator;
  const { most } = partialResultCounts(settings, partition);
  const maxBytes = writtenBytes(new Array<number>(queries.length).fill(most), settings.partial.columns);
  const startedMs = world.monotonicMs();
  const ending = linkAborts(signal);
  const stopTimer = world.setTimer(timeoutMs, () =>
    ending.abort(new Fault(`The worker has not answered within ${timeoutMs / 1000} s.`)),
  );
  worker.pendingCount += 1;
  try {
    const { startDeadlineMs } = work.engine;
    const bytes = await connection.send(body, { maxBytes, signal: ending.signal, startDeadlineMs });
    const partialResults = decodePartialResults(bytes);
    const { dimension } = work.engine.release.manifest.encoder;
    const { targets } = work.engine.release;
    const lengthOf = (target: number): number => targets.length(target);
    await requireWhole(partialResults, queries, settings, partition, dimension, lengthOf);
    times.add(world.monotonicMs() - startedMs);
    worker.deprioritisedUntilMs = -Infinity;
    coordinator.count(url, 'answered');
    return partialResults;
  } catch (cause) {
    if (!signal.aborted) {
      worker.deprioritisedUntilMs = world.monotonicMs() + WORKER_DEPRIORITISED_MS;
      coordinator.count(url, 'failed');
      coordinator.report({ worker: url, partition: partition.number, cause });
    } else if (signal.reason instanceof Superseded) {
      // The true response time is longer. Without such lower bounds the hedging delay would shrink without end.
      times.add(world.monotonicMs() - startedMs);
      coordinator.count(url, 'outrun');
    }
    throw cause;
  } finally {
    stopTimer();
    ending.release();
    worker.pendingCount -= 1;
  }
}

/** Returns the refusal for the client. The log has the failure of each worker. */
function refusalOf(
  failures: readonly unknown[],
  { number }: Partition,
  { partCount }: CoordinatorState,
): Refusal {
  const refusals = failures.filter((failure) => failure instanceof WorkerRefusal);
  const retryAfterSeconds = Math.max(
    WORKER_RETRY_SECONDS,
    ...refusals.map((refusal) => refusal.retryAfterSeconds ?? 0),
  );
  if (refusals.some(({ code }) => code === 'start_deadline_exceeded')) {
    return new Refusal(
      'start_deadline_exceeded',
      'Not all workers could start within Service-Request-Timeout. Allow more time, or retry later.',
      { retryAfterSeconds },
    );
  }
  return new Refusal(
    'worker_unavailable',
    `Part ${number} of ${partCount} of the database is on other machines, none of which responds correctly. ` +
      'The search has no result without this part; retry later.',
    { retryAfterSeconds, part: number, part_count: partCount },
  );
}
