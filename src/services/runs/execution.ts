import { randomUUID } from 'node:crypto';
import { isFinal } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import { RUN_MAX_FRUITLESS_ATTEMPTS } from '../../limits.js';
import { packRows, unpackText, type RowBlock } from '../../store/tables/run-rows.js';
import type { RunEnd, RunFailure, RunPiece, RunRow, RunTable } from '../../store/tables/runs.js';
import type {
  AnyRunEndpoint,
  RunEndpoint,
  RunExecution,
  RunFailureOutcome,
  RunOutcome,
  RunStep,
} from './run-kind.js';
import type { RunTurn } from './queue.js';
import type { RunWatch } from './watch.js';

/** Carries runs from start to end, one piece at each call. */
export interface RunExecutions {
  /** Does the next piece of a run; undefined at its end. Never rejects. */
  step(runId: string): Promise<RunTurn | undefined>;
  /** Ends the work of a run that has ended otherwise. */
  abandon(runId: string): void;
  /** Interrupts all work and waits until it is given up; the next server goes on behind what was kept. */
  interrupt(): Promise<void>;
}

export interface RunExecutionParts {
  readonly table: RunTable;
  readonly endpoints: ReadonlyMap<string, AnyRunEndpoint>;
  readonly watch: RunWatch;
  readonly now: () => Date;
  /** Told of failures that are ours, with the run that they ended. */
  readonly onFault: (error: unknown, runId: string) => void;
}

/** A run at work in this process. */
interface Execution {
  readonly run: RunRow;
  /** What distinguishes this execution from one before a crash, or of another process. */
  readonly claim: string;
  readonly work: RunExecution;
  readonly controller: AbortController;
  /** Time spent on kept pieces, of this and earlier executions. */
  workMs: number;
}

class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export function createRunExecutions(parts: RunExecutionParts): RunExecutions {
  const { table, watch } = parts;
  const executions = new Map<string, Execution>();
  let isInterrupted = false;

  const settle = (runId: string): undefined => {
    executions.get(runId)?.controller.abort(new Interrupted());
    executions.delete(runId);
    watch.notify(runId);
  };
  const finish = async (runId: string, end: Omit<RunEnd, 'at'>): Promise<undefined> => {
    await table.end(runId, { ...end, at: parts.now() });
    return settle(runId);
  };
  const fail = async (runId: string, error: unknown, claim?: string): Promise<undefined> => {
    if (error instanceof Interrupted) return settle(runId);
    if (!(error instanceof Refusal)) parts.onFault(error, runId);
    return finish(runId, { to: 'failed', claim, fail: () => failureOf(error) });
  };

  const begin = async (runId: string): Promise<Execution | undefined> => {
    const claim = randomUUID();
    const run = await table.claim(runId, claim, parts.now());
    if (run === undefined) return undefined;
    watch.notify(runId);
    const controller = new AbortController();
    const work = await start(run, controller.signal, parts);
    const execution = { run, claim, work, controller, workMs: run.workMs };
    executions.set(runId, execution);
    if (isInterrupted) controller.abort(new Interrupted());
    return execution;
  };

  const advance = async (execution: Execution): Promise<RunTurn | undefined> => {
    const { run, claim, work } = execution;
    const startedAt = performance.now();
    const { done, value } = await work.next();
    const blocks = await packRows(value.rows);
    execution.workMs += performance.now() - startedAt;
    const piece = pieceOf(value, blocks, execution.workMs);
    if (done === true && 'fail' in value) {
      return finish(run.id, { to: 'failed', claim, piece, fail: (at) => failureOf(value.fail(at)) });
    }
    if (done === true) {
      const outcome = value as RunOutcome;
      const summarise = (at: Date): unknown => outcome.summarise(at);
      const { billableUnits } = outcome;
      return finish(run.id, { to: 'completed', claim, piece, summarise, billableUnits });
    }
    const kept = await table.keep(run.id, claim, piece);
    watch.notify(run.id);
    if (kept !== undefined) return { after: value.resumeAfter };
    // Cancelled meanwhile, or another process has taken the run over.
    execution.controller.abort(new Interrupted());
    await work.return(undefined as never).catch(() => undefined);
    return settle(run.id);
  };

  return {
    async step(runId) {
      if (isInterrupted) return undefined;
      let claim: string | undefined;
      try {
        const execution = executions.get(runId) ?? (await begin(runId));
        claim = execution?.claim;
        return execution === undefined ? settle(runId) : await advance(execution);
      } catch (error) {
        // The disk may refuse this, too; then the run stays as it is and the next server tries again.
        return fail(runId, error, claim).catch((cause: unknown) => {
          parts.onFault(cause, runId);
          return settle(runId);
        });
      }
    },
    abandon(runId) {
      const execution = executions.get(runId);
      if (execution === undefined) return;
      executions.delete(runId);
      execution.controller.abort(new Interrupted());
      // Between two turns nobody else lets the generator clean up.
      void execution.work.return(undefined as never).catch(() => undefined);
    },
    async interrupt() {
      isInterrupted = true;
      const interrupted = [...executions.values()];
      for (const { controller } of interrupted) controller.abort(new Interrupted());
      // Those between two turns clean up now; the others when their piece has heard of it.
      await Promise.allSettled(interrupted.map(({ work }) => work.return(undefined as never)));
    },
  };
}

/** Errors  Refusal `run_interrupted` for a run that has ended the server too often */
async function start(
  run: RunRow,
  signal: AbortSignal,
  { table, endpoints }: RunExecutionParts,
): Promise<RunExecution> {
  if (run.fruitlessAttemptCount > RUN_MAX_FRUITLESS_ATTEMPTS) {
    throw new Refusal(
      'run_interrupted',
      `The server ended ${run.attemptCount - 1} times while it worked on this run. Make the input smaller.`,
    );
  }
  const endpoint = endpoints.get(run.endpoint) as unknown as RunEndpoint | undefined;
  const packed = table.plan(run.id);
  // Cancelled since it was claimed: its plan went with it.
  if (packed === undefined && isFinal((table.get(run.id) ?? run).status)) throw new Interrupted();
  if (endpoint === undefined || packed === undefined) {
    throw new Error(`The run cannot be started: endpoint ${run.endpoint} or its plan is missing.`);
  }
  const plan = JSON.parse(await unpackText(packed)) as unknown;
  const { requestId, organizationId, keyId } = run;
  const context = { requestId, organizationId, keyId, signal, receivedAtMs: performance.now() };
  return endpoint.execute(plan, { runId: run.id, context, checkpoint: run.checkpoint });
}

function pieceOf(
  value: RunStep | RunOutcome | RunFailureOutcome,
  blocks: readonly RowBlock[],
  workMs: number,
): RunPiece {
  const { doneCount } = value;
  return 'stage' in value
    ? { blocks, doneCount, workMs, stage: value.stage, checkpoint: value.checkpoint }
    : { blocks, doneCount, workMs, stage: 'completed' };
}

function failureOf(error: unknown): RunFailure {
  if (error instanceof Refusal) {
    return { code: error.code, message: error.message, details: { ...error.details } };
  }
  return {
    code: 'internal_error',
    message: "The server failed. Its log has the cause under the run's id.",
    details: {},
  };
}
