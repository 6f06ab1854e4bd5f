import type { Run, RunRequest } from '../../contract/runs/runs.js';
import { isFinal, type RunStatus } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import {
  RUN_ATTEMPT_WAIT_MAX_MS,
  RUN_PROMPT_ATTEMPTS_MAX_COUNT,
  RUN_WAIT_MAX_SECONDS,
} from '../../limits.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import { inTurns } from '../../turns.js';
import { realWorld, type World } from '../../world.js';
import { remembered, type RequestContext } from '../context.js';
import type { Page, PageRequest, Pages } from '../pages.js';
import type { BytesReply, Reply, StreamReply, Traces } from '../reply.js';
import type { Receipts } from '../search/receipts.js';
import { acceptRun, type AcceptDependencies } from './accept.js';
import { EventStreams, streamEvents } from './events.js';
import { RunExecutor } from './executor.js';
import { outputsOf, rowCountOf, warningsOf } from './outputs.js';
import { preferenceApplied, presentRun, resultPage, waitOf } from './present.js';
import { RunQueue } from './queue.js';
import { pageFormat, tableOfPage, type TableRequest } from './result-table.js';
import type { RunKind } from './run-kind.js';
import { RunPage } from './run-page.js';
import { RunWatch } from './watch.js';

interface RunListRequest extends PageRequest {
  readonly status?: RunStatus;
  readonly endpoint?: string;
}

/** Request headers by name, as the contract declares them. */
interface RunHeaders {
  readonly Prefer?: string | undefined;
}

interface RunsDependencies extends AcceptDependencies {
  readonly kinds: readonly RunKind[];
  readonly pages: Pages;
  readonly receipts: Pick<Receipts, 'get'>;
  /** Whether the catalog has a release. Default: it has every release. */
  readonly hasRelease?: (releaseId: string) => boolean;
  /** Concurrent turns. */
  readonly concurrency: number;
  /** Called after a change of a run is on disk. */
  readonly onChange?: () => void;
}

/** Listeners for internal failures, and for causes that runs wait for. */
interface Listeners {
  /** `runId` is undefined if the removal of expired runs failed. */
  readonly onFault: (error: unknown, runId?: string) => void;
  readonly onWait: (cause: unknown, runId: string) => void;
}

const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/** Accepts runs, schedules their turns, and returns their states and results. */
export class Runs {
  readonly #dependencies: RunsDependencies;
  readonly #table: RunTable;
  readonly #world: World;
  readonly #kinds: ReadonlyMap<string, RunKind>;
  readonly #watch: RunWatch;
  readonly #streams = new EventStreams();
  readonly #executor: RunExecutor;
  readonly #queue: RunQueue;
  /** Timers of runs in backoff. */
  readonly #backoffs = new Set<() => void>();
  #endSweeps: (() => void) | undefined;
  /** Present once started. */
  #listeners: Listeners | undefined;

  constructor(dependencies: RunsDependencies) {
    const { table, kinds, now, world = realWorld, concurrency, onChange } = dependencies;
    const { hasRelease = () => true } = dependencies;
    this.#dependencies = dependencies;
    this.#table = table;
    this.#world = world;
    this.#kinds = new Map(kinds.map((kind) => [kind.key, kind]));
    this.#watch = new RunWatch(onChange, world);
    const listeners: Listeners = {
      onFault: (error, runId) => this.#listeners?.onFault(error, runId),
      onWait: (cause, runId) => this.#listeners?.onWait(cause, runId),
    };
    const parts = { table, kinds: this.#kinds, watch: this.#watch, now, world, hasRelease, ...listeners };
    this.#executor = new RunExecutor(parts);
    this.#queue = new RunQueue(({ id }) => this.#executor.step(id), concurrency);
  }

  /** Errors  the refusals of runs.create; the response is sent after the run is on disk */
  async create(request: RunRequest, headers: RunHeaders, context: RequestContext): Promise<Reply<Run>> {
    const waitSeconds = waitOf(headers.Prefer) ?? (request.background ? 0 : RUN_WAIT_MAX_SECONDS);
    const replyTo = (run: RunRow): Reply<Run> => creationReply(run, headers.Prefer, waitSeconds);
    // A retry after a crash gets the response that the run was accepted, even if the first request would have waited.
    let accepted: Reply<Run> | undefined;
    const onAccepted = (queued: RunRow): void => {
      accepted = remembered(replyTo(queued), context);
    };
    const creation = { ...request, background: waitSeconds === 0 };
    const run = await acceptRun(creation, onAccepted, context, this.#kinds, this.#dependencies);
    // Before the start, the run is on disk, and `start` enqueues it.
    if (this.#listeners !== undefined) this.#enqueue(run);
    if (waitSeconds === 0) return accepted ?? replyTo(run);
    return replyTo(await this.#waitForEnd(run.id, waitSeconds, context));
  }

  /** Errors  Refusal `cursor_invalid`; the context's signal */
  async list(
    { status, endpoint, limit, cursor }: RunListRequest,
    { organizationId, signal }: RequestContext,
  ): Promise<Reply<Page<Run>>> {
    const { pages } = this.#dependencies;
    const list = [organizationId, 'runs', status ?? '', endpoint ?? ''];
    const position = cursor === undefined ? undefined : pages.open(cursor, list);
    const page = new RunPage();
    const bounds = { limit, take: (run: RunRow) => page.add(run) };
    const listing = this.#table.list(organizationId, { status, endpoint }, bounds, position);
    const { runs, position: next } = await this.#world.aside(inTurns(listing, signal));
    return {
      ...page.end(next === undefined ? null : pages.seal(next, list)),
      rowCount: runs.length,
    };
  }

  /** Errors  Refusal `run_not_found`, `permission_denied` */
  async get(runId: string, headers: RunHeaders, context: RequestContext): Promise<Reply<Run>> {
    const run = this.#find(runId, context);
    const waitSeconds = waitOf(headers.Prefer) ?? 0;
    const current = waitSeconds === 0 ? run : await this.#waitForEnd(runId, waitSeconds, context);
    return { ...replyOf(current, [runId]), headers: preferenceApplied(headers.Prefer, waitSeconds) };
  }

  /** Errors  those of get; Refusal `run_already_finished` */
  async cancel(runId: string, context: RequestContext): Promise<Reply<Run>> {
    this.#find(runId, context);
    const cancelled = await this.#table.end(runId, { to: 'cancelled', at: this.#dependencies.now() });
    if (cancelled !== undefined) {
      this.#queue.remove(runId);
      this.#executor.abandon(runId);
      this.#watch.notify(runId);
      return replyOf(cancelled, [runId]);
    }
    const run = this.#find(runId, context);
    if (run.status === 'cancelled') return replyOf(run, [runId]);
    throw new Refusal(
      'run_already_finished',
      `The run has ${run.status === 'failed' ? 'failed' : 'completed'}: nothing is left to cancel.`,
      { status: run.status },
    );
  }

  /** Errors  those of get; Refusal `cursor_invalid`, `result_expired` */
  async results(runId: string, request: PageRequest, context: RequestContext): Promise<Reply<Page<unknown>>> {
    const run = this.#find(runId, context);
    const page = await this.#world.aside(resultPage(run, request, this.#table, this.#dependencies.pages));
    return { value: page, rowCount: page.data.length };
  }

  /**
   * Returns a page of results as a table.
   * Errors  those of results, and of tableOfPage
   */
  async resultTable(
    runId: string,
    request: PageRequest & TableRequest,
    context: RequestContext,
  ): Promise<BytesReply> {
    const run = this.#find(runId, context);
    const { pages, receipts } = this.#dependencies;
    const format = pageFormat(request);
    const page = await this.#world.aside(resultPage(run, request, this.#table, pages));
    const whole = await tableOfPage(run, page.data, format, receipts, context);
    return {
      headers:
        page.next_cursor === null ? {} : { Link: nextLink(runId, { ...request, cursor: page.next_cursor }) },
      bytes: {
        contentType: format.contentType,
        sizeBytes: whole.length,
        whole,
        open: () => ({ bytes: oncePiece(whole), close: () => undefined }),
      },
    };
  }

  /** Errors  those of get */
  events(runId: string, lastEventId: string | undefined, context: RequestContext): StreamReply {
    const run = this.#find(runId, context);
    const { now } = this.#dependencies;
    const sources = { table: this.#table, watch: this.#watch, streams: this.#streams, now };
    return {
      stream: streamEvents(run, lastEventId, sources, context.signal),
    };
  }

  /**
   * Resumes the runs of an earlier server and starts to schedule turns.
   * @param onFault called for internal failures, with the run that the failure ended, if any
   * @param onWait called once with the reason why a run waits, a disk or a worker; default: onFault
   */
  async start(onFault: Listeners['onFault'], onWait: Listeners['onWait'] = onFault): Promise<void> {
    this.#listeners = { onFault, onWait };
    const sweep = (): Promise<void> => this.#sweep().catch((error: unknown) => onFault(error));
    await sweep();
    this.#endSweeps = this.#world.every(SWEEP_INTERVAL_MS, () => void sweep());
    for (const run of this.#table.unfinished()) {
      this.#enqueueAfter(run, waitBeforeAttempt(run, this.#dependencies.now()));
    }
  }

  /** Number of waiting and running runs of each kind. */
  unfinishedCounts(): readonly { readonly kind: string; readonly status: string; readonly count: number }[] {
    const counts = new Map<string, { kind: string; status: string; count: number }>();
    for (const { endpoint: kind, status } of this.#table.unfinished()) {
      const count = counts.get(`${kind} ${status}`)?.count ?? 0;
      counts.set(`${kind} ${status}`, { kind, status, count: count + 1 });
    }
    return [...counts.values()];
  }

  /** Interrupts the work, which the next server resumes, and ends all waits. Errors  none */
  async stop(): Promise<void> {
    this.#endSweeps?.();
    for (const cancel of this.#backoffs) cancel();
    this.#watch.end();
    const stopped = this.#queue.stop();
    await this.#executor.interrupt();
    await stopped;
  }

  #find(runId: string, { organizationId }: RequestContext): RunRow {
    const run = this.#table.get(runId);
    if (run === undefined) throw new Refusal('run_not_found', `No run has the id ${runId}.`);
    if (run.organizationId === organizationId) return run;
    throw new Refusal('permission_denied', 'The run belongs to another organization.');
  }

  async #waitForEnd(runId: string, seconds: number, { signal }: RequestContext): Promise<RunRow> {
    const deadline = this.#world.monotonicMs() + seconds * 1000;
    const changes = this.#watch.open(runId);
    try {
      for (;;) {
        const run = this.#table.get(runId) as RunRow;
        const left = deadline - this.#world.monotonicMs();
        if (isFinal(run.status) || left <= 0 || this.#watch.isEnded) return run;
        await changes.next(left, signal);
        signal.throwIfAborted();
      }
    } finally {
      changes.close();
    }
  }

  #enqueue({ id, organizationId, priority, createdAt }: RunRow): void {
    this.#queue.add({ id, organizationId, priority, acceptedAt: `${createdAt} ${id}` });
  }

  #enqueueAfter(run: RunRow, waitMs: number): void {
    if (waitMs <= 0) return this.#enqueue(run);
    this.#backoffs.add(this.#world.setTimer(waitMs, () => this.#enqueue(run)));
  }

  async #sweep(): Promise<void> {
    while (await this.#table.sweep(this.#dependencies.now()));
  }
}

/** Exponential backoff of a run that crashed servers, or was in progress when they ended. */
function waitBeforeAttempt({ fruitlessAttemptCount, claimedAt }: RunRow, at: Date): number {
  const slowed = fruitlessAttemptCount - RUN_PROMPT_ATTEMPTS_MAX_COUNT;
  if (slowed < 0 || claimedAt === undefined) return 0;
  const waitMs = Math.min(RUN_ATTEMPT_WAIT_MAX_MS, 1_000 * 2 ** slowed);
  // The clock may have been set back since the claim.
  return Math.min(waitMs, Date.parse(claimedAt) + waitMs - at.getTime());
}

async function* oncePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Link to the next page. Source  RFC 8288 */
function nextLink(runId: string, request: PageRequest & TableRequest): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request)) query.set(name, String(value));
  return `</v1/runs/${runId}/results?${query.toString()}>; rel="next"`;
}

function creationReply(run: RunRow, prefer: string | undefined, waitSeconds: number): Reply<Run> {
  const isEnded = waitSeconds > 0 && isFinal(run.status);
  return {
    ...replyOf(run),
    generatedObjectIds: [run.id],
    status: isEnded ? 200 : 202,
    headers: {
      Location: `/v1/runs/${run.id}`,
      ...(isEnded ? {} : { 'Retry-After': '1' }),
      ...preferenceApplied(prefer, waitSeconds),
    },
  };
}

/** @param named ids in the request */
function replyOf(run: RunRow, named: readonly string[] = []): Reply<Run> {
  const traces = (run.traces ?? {}) as Traces;
  return {
    value: presentRun(run),
    ...traces,
    inputRefs: [...named, ...(traces.inputRefs ?? [])],
    outputRefs: [run.id, ...outputsOf(run)],
    warnings: warningsOf(run),
    rowCount: rowCountOf(run),
    ...(run.status === 'completed' && { billableUnits: run.billableUnits }),
  };
}
