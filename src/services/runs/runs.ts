import type { Run, RunRequest } from '../../contract/runs/runs.js';
import { isFinal, type RunStatus } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import {
  RUN_ATTEMPT_WAIT_MAX_MS,
  RUN_PROMPT_ATTEMPTS_MAX_COUNT,
  RUN_WAIT_MAX_SECONDS,
} from '../../limits.js';
import type { RunRow } from '../../store/tables/runs.js';
import type { RequestContext } from '../context.js';
import type { Page, PageRequest, Pages } from '../pages.js';
import type { Reply } from '../reply.js';
import { acceptRun, type AcceptParts } from './accept.js';
import type { AnyRunEndpoint } from './run-kind.js';
import { streamEvents } from './events.js';
import { createRunExecutions } from './execution.js';
import { preferenceApplied, waitOf } from './prefer.js';
import { presentRun } from './present.js';
import { createRunQueue } from './queue.js';
import { resultPage } from './results.js';
import { createRunWatch } from './watch.js';

export interface RunListRequest extends PageRequest {
  readonly status?: RunStatus;
  readonly endpoint?: string;
}

export interface Runs {
  /** Errors  the refusals of runs.create; what was answered is on disk */
  create(request: RunRequest, headers: RunHeaders, context: RequestContext): Promise<Reply<Run>>;
  list(request: RunListRequest, context: RequestContext): Reply<Page<Run>>;
  /** Errors  Refusal `run_not_found`, `permission_denied` */
  get(runId: string, headers: RunHeaders, context: RequestContext): Promise<Reply<Run>>;
  /** Errors  those of get; Refusal `run_already_finished` */
  cancel(runId: string, context: RequestContext): Promise<Reply<Run>>;
  /** Errors  those of get; Refusal `cursor_invalid`, `result_expired` */
  results(runId: string, request: PageRequest, context: RequestContext): Promise<Reply<Page<unknown>>>;
  /** Errors  those of get */
  events(runId: string, lastEventId: string | undefined, context: RequestContext): Reply<never>;
  /**
   * Goes on with what an earlier server left, and gives turns from now on.
   * @param onFault told of failures that are ours, with the run that they ended
   */
  start(onFault: (error: unknown, runId: string) => void): Promise<void>;
  /** Interrupts the work, which the next server resumes, and ends all waiting. */
  stop(): Promise<void>;
}

/** Request headers by name, as the contract declares them. */
export interface RunHeaders {
  readonly Prefer?: string | undefined;
  readonly 'Idempotency-Key'?: string | undefined;
}

export interface RunParts extends AcceptParts {
  readonly endpoints: readonly AnyRunEndpoint[];
  readonly pages: Pages;
  /** Turns at once. */
  readonly concurrency: number;
  /** Told when something about a run has changed on disk. */
  readonly onChange?: () => void;
}

const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

export function createRuns(parts: RunParts): Runs {
  const { table, pages, now } = parts;
  const endpoints = new Map(parts.endpoints.map((endpoint) => [endpoint.key as string, endpoint]));
  const watch = createRunWatch(parts.onChange);
  let report: ((error: unknown, runId: string) => void) | undefined;
  const onFault = (error: unknown, runId: string): void => report?.(error, runId);
  const executions = createRunExecutions({ ...parts, endpoints, watch, onFault });
  const queue = createRunQueue(({ id }) => executions.step(id), parts.concurrency);
  let sweeping: NodeJS.Timeout | undefined;
  const waiting = new Set<NodeJS.Timeout>();

  const enqueue = ({ id, organizationId, priority, createdAt }: RunRow): void =>
    queue.add({ id, organizationId, priority, acceptedAt: `${createdAt} ${id}` });
  const enqueueAfter = (run: RunRow, waitMs: number): void => {
    if (waitMs <= 0) return enqueue(run);
    const timer = setTimeout(() => enqueue(run), waitMs);
    timer.unref();
    waiting.add(timer);
  };
  const sweep = async (): Promise<void> => {
    while (await table.sweep(now()));
  };
  const find = (runId: string, { organizationId }: RequestContext): RunRow => {
    const run = table.get(runId);
    if (run === undefined) throw new Refusal('run_not_found', `No run has the id ${runId}.`);
    if (run.organizationId === organizationId) return run;
    throw new Refusal('permission_denied', 'The run belongs to another organization.');
  };
  const waitForEnd = async (runId: string, seconds: number, { signal }: RequestContext): Promise<RunRow> => {
    const deadline = performance.now() + seconds * 1000;
    const changes = watch.open(runId);
    try {
      for (;;) {
        const run = table.get(runId) as RunRow;
        const left = deadline - performance.now();
        if (isFinal(run.status) || left <= 0 || watch.isEnded) return run;
        await changes.next(left, signal);
        signal.throwIfAborted();
      }
    } finally {
      changes.close();
    }
  };

  return {
    async create(request, headers, context) {
      const created = await acceptRun(request, headers['Idempotency-Key'], context, endpoints, parts);
      // Before the start, the start itself will find it.
      if (created.status === 'created' && report !== undefined) enqueue(created.run);
      const { id } = created.run;
      const waitSeconds = waitOf(headers.Prefer) ?? (request.background ? 0 : RUN_WAIT_MAX_SECONDS);
      const run = waitSeconds === 0 ? created.run : await waitForEnd(id, waitSeconds, context);
      const isEnded = waitSeconds > 0 && isFinal(run.status);
      return {
        ...replyOf(run),
        generatedObjectIds: [id],
        status: isEnded ? 200 : 202,
        headers: {
          Location: `/v1/runs/${id}`,
          ...(isEnded ? {} : { 'Retry-After': '1' }),
          ...preferenceApplied(headers.Prefer, waitSeconds),
        },
      };
    },
    list({ status, endpoint, limit, cursor }, { organizationId }) {
      const list = [organizationId, 'runs', status ?? '', endpoint ?? ''];
      const position = cursor === undefined ? undefined : pages.open(cursor, list);
      const page = table.list(organizationId, { status, endpoint }, limit, position);
      const value: Page<Run> = {
        object: 'list',
        data: page.runs.map(presentRun),
        has_more: page.position !== undefined,
        next_cursor: page.position === undefined ? null : pages.seal(page.position, list),
      };
      return { value, rowCount: value.data.length };
    },
    async get(runId, headers, context) {
      const run = find(runId, context);
      const waitSeconds = waitOf(headers.Prefer) ?? 0;
      const known = waitSeconds === 0 ? run : await waitForEnd(runId, waitSeconds, context);
      return { ...replyOf(known), headers: preferenceApplied(headers.Prefer, waitSeconds) };
    },
    async cancel(runId, context) {
      find(runId, context);
      const cancelled = await table.end(runId, { to: 'cancelled', at: now() });
      if (cancelled !== undefined) {
        queue.remove(runId);
        executions.abandon(runId);
        watch.notify(runId);
        return replyOf(cancelled);
      }
      const run = find(runId, context);
      if (run.status === 'cancelled') return replyOf(run);
      throw new Refusal(
        'run_already_finished',
        `The run has ${run.status === 'failed' ? 'failed' : 'completed'}: nothing is left to cancel.`,
        { status: run.status },
      );
    },
    async results(runId, request, context) {
      const page = await resultPage(find(runId, context), request, table, pages);
      return { value: page, rowCount: page.data.length };
    },
    events: (runId, lastEventId, context) => ({
      value: undefined as never,
      stream: streamEvents(find(runId, context), lastEventId, { table, watch }, context.signal),
    }),
    async start(given) {
      report = given;
      await sweep();
      sweeping = setInterval(() => void sweep().catch((error) => onFault(error, 'sweep')), SWEEP_INTERVAL_MS);
      sweeping.unref();
      for (const run of table.unfinished()) enqueueAfter(run, waitBeforeAttempt(run, now()));
    },
    async stop() {
      clearInterval(sweeping);
      for (const timer of waiting) clearTimeout(timer);
      watch.end();
      const stopped = queue.stop();
      await executions.interrupt();
      await stopped;
    },
  };
}

/** How long a run that ended servers, or was at work when they ended, waits for its next start. */
function waitBeforeAttempt({ fruitlessAttemptCount, claimedAt }: RunRow, at: Date): number {
  const slowed = fruitlessAttemptCount - RUN_PROMPT_ATTEMPTS_MAX_COUNT;
  if (slowed < 0 || claimedAt === undefined) return 0;
  const waitMs = Math.min(RUN_ATTEMPT_WAIT_MAX_MS, 1_000 * 2 ** slowed);
  return Date.parse(claimedAt) + waitMs - at.getTime();
}

function replyOf(run: RunRow): Reply<Run> {
  return {
    value: presentRun(run),
    outputRefs: [run.id],
    ...(run.status === 'completed' && { billableUnits: run.billableUnits }),
  };
}
