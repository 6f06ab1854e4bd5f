import { linkAborts } from '../../abort.js';
import { Fault, Refusal } from '../../errors.js';
import { WORKER_DISTRUST_MS, WORKER_RETRY_SECONDS } from '../../limits.js';
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
import { createAnswerTimes, type AnswerTimes } from './answer-times.js';
import { firstAnswer, Outrun } from './first-answer.js';
import { openLine, WorkerRefusal, type WorkerLine } from './worker-connection.js';
import type { PartialResultRequest } from './partial-result-request.js';

/** The workers of a front: other appliances that look at parts of the targets in its place. */
export interface Workers {
  /**
   * Looks at a release through them; the result is that of looking here, to the bit.
   * Errors  Refusal `worker_unavailable` where nobody answers for a part and the settings do not serve it here;
   *         `start_deadline_exceeded`; the signal's reason
   */
  readonly scan: Scan;
  /** What has been asked since the start; `here` stands for parts that were served in a worker's place. */
  counts(): readonly WorkerCount[];
  /** The listener hears of each worker that fails from now on. */
  watch(listener: (failure: WorkerFailure) => void): void;
  close(): void;
}

export interface WorkerCount {
  readonly worker: string;
  readonly outcome: 'answered' | 'failed' | 'outrun';
  readonly count: number;
}

export interface WorkerFailure {
  /** Its address. */
  readonly worker: string;
  /** From 1 on. */
  readonly part: number;
  readonly cause: unknown;
}

type WorkerWorld = Pick<World, 'setTimer' | 'monotonicMs'>;

/** Errors  Refusal `invalid_config` where a file of the settings cannot be used */
export function createWorkers(settings: WorkerSettings, world: WorkerWorld): Workers {
  const listeners: ((failure: WorkerFailure) => void)[] = [];
  const counts = new Map<string, Record<WorkerCount['outcome'], number>>();
  const countOf = (worker: string) => {
    const known = counts.get(worker) ?? { answered: 0, failed: 0, outrun: 0 };
    counts.set(worker, known);
    return known;
  };
  const workers = settings.nodes.map(({ url, parts, ...files }): Worker => {
    return { url, parts, line: openLine({ url, parts, ...files }), atWork: 0, distrustedUntilMs: -Infinity };
  });
  const coordinator: CoordinatorState = {
    ...settings,
    world,
    workers,
    times: { direct: createAnswerTimes(), background: createAnswerTimes() },
    note: (worker, outcome) => (countOf(worker)[outcome] += 1),
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
    close: () => workers.forEach(({ line }) => line.close()),
  };
}

interface Worker {
  readonly url: string;
  readonly parts: readonly number[];
  readonly line: WorkerLine;
  /** Requests that it has not answered. */
  atWork: number;
  /** Until then it is asked after the others. */
  distrustedUntilMs: number;
}

interface CoordinatorState extends Pick<WorkerSettings, 'partCount' | 'onError' | 'timeoutMs'> {
  readonly world: WorkerWorld;
  readonly workers: readonly Worker[];
  /** Searches that somebody waits for and packs of runs take times of their own. */
  readonly times: Readonly<Record<'direct' | 'background', AnswerTimes>>;
  readonly note: (worker: string, outcome: WorkerCount['outcome']) => void;
  readonly report: (failure: WorkerFailure) => void;
}

/** What all parts of one search share. */
interface Job {
  readonly queries: readonly EncodedQuery[];
  readonly settings: PartialResultSettings;
  readonly work: ScanWork;
  readonly request: Omit<PartialResultRequest, 'part'>;
  readonly times: AnswerTimes;
}

interface Part extends TargetRange {
  /** From 1 on. */
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
  const times = coordinator.times[request.is_background ? 'background' : 'direct'];
  const job = { queries, settings: { targetSpace, partial }, work, request, times };
  const ranges = targetRanges(engine.release, coordinator.partCount);
  // Where one part cannot be had, nobody needs the others.
  const ending = linkAborts(...(options.signal ? [options.signal] : []));
  try {
    return await Promise.all(
      ranges.map((range, part) =>
        scanPartition({ ...range, number: part + 1 }, job, coordinator, ending.signal),
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
  part: Part,
  job: Job,
  coordinator: CoordinatorState,
  signal: AbortSignal,
): Promise<readonly PartialResult[]> {
  const { queries, settings, work, request, times } = job;
  const { world, onError } = coordinator;
  const holders = coordinator.workers.filter(({ parts }) => parts.includes(part.number));
  const nowMs = world.monotonicMs();
  const distrust = ({ distrustedUntilMs }: Worker): number => (distrustedUntilMs > nowMs ? 1 : 0);
  holders.sort((a, b) => distrust(a) - distrust(b) || a.atWork - b.atWork);
  const body = JSON.stringify({ ...request, part: part.number } satisfies PartialResultRequest);
  const afterMs = times.mostMs();
  try {
    return await firstAnswer(
      holders.map((worker) => (ending) => askWorker(worker, body, part, job, coordinator, ending)),
      { afterMs, world, signal },
    );
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    if (onError === 'fail') throw refusalOf(error.errors, part, coordinator);
    coordinator.note('here', 'answered');
    return scanEncoded(queries, settings, part, work.engine, { ...work.options, signal });
  }
}

async function askWorker(
  worker: Worker,
  body: string,
  part: Part,
  job: Job,
  coordinator: CoordinatorState,
  signal: AbortSignal,
): Promise<readonly PartialResult[]> {
  const { queries, settings, work, times } = job;
  const { url, line } = worker;
  const { world, timeoutMs } = coordinator;
  const { most } = partialResultCounts(settings, part);
  const maxBytes = writtenBytes(new Array<number>(queries.length).fill(most), settings.partial.columns);
  const startedMs = world.monotonicMs();
  const ending = linkAborts(signal);
  const stopTimer = world.setTimer(timeoutMs, () =>
    ending.abort(new Fault(`It has not answered within ${timeoutMs / 1000} s.`)),
  );
  worker.atWork += 1;
  try {
    const { startDeadlineMs } = work.engine;
    const bytes = await line.ask(body, { maxBytes, signal: ending.signal, startDeadlineMs });
    const partialResults = decodePartialResults(bytes);
    const { dimension } = work.engine.release.manifest.encoder;
    await requireWhole(partialResults, queries, settings, part, dimension);
    times.add(world.monotonicMs() - startedMs);
    worker.distrustedUntilMs = -Infinity;
    coordinator.note(url, 'answered');
    return partialResults;
  } catch (cause) {
    if (!signal.aborted) {
      worker.distrustedUntilMs = world.monotonicMs() + WORKER_DISTRUST_MS;
      coordinator.note(url, 'failed');
      coordinator.report({ worker: url, part: part.number, cause });
    } else if (signal.reason instanceof Outrun) {
      // It would have taken longer: without these the times that say when to hedge would shrink and shrink.
      times.add(world.monotonicMs() - startedMs);
      coordinator.note(url, 'outrun');
    }
    throw cause;
  } finally {
    stopTimer();
    ending.release();
    worker.atWork -= 1;
  }
}

/** What the client is told; why each of the workers did not answer stands in the log. */
function refusalOf(failures: readonly unknown[], { number }: Part, { partCount }: CoordinatorState): Refusal {
  const refusals = failures.filter((failure) => failure instanceof WorkerRefusal);
  const retryAfterSeconds = Math.max(
    WORKER_RETRY_SECONDS,
    ...refusals.map((refusal) => refusal.retryAfterSeconds ?? 0),
  );
  if (refusals.some(({ code }) => code === 'start_deadline_exceeded')) {
    return new Refusal(
      'start_deadline_exceeded',
      'Work could not start everywhere within Service-Request-Timeout. Allow more time, or ask again later.',
      { retryAfterSeconds },
    );
  }
  return new Refusal(
    'worker_unavailable',
    `Part ${number} of ${partCount} of the database lies on other machines, none of which answers as it should. ` +
      'No answer without it is given; ask again later.',
    { retryAfterSeconds, part: number, part_count: partCount },
  );
}
