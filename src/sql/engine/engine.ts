import { Fault, Refusal } from '../../errors.js';
import { SQL_ENGINE_START_MAX_MS, SQL_INTERRUPT_GRACE_MS, SQL_PROCESS_OVERHEAD_BYTES } from '../../limits.js';
import { openEngineChannel } from './channel.js';
import { StatementFailure } from './failure.js';
import type { EngineRequest, SqlBatch, SqlEncoding, SqlParameter, StatementShape } from './messages.js';
import type { EngineLimits } from './world.js';
import type { SqlWorld } from '../world.js';

const MEMORY_LOOK_INTERVAL_MS = 100;

export interface StatementOptions {
  readonly encoding: SqlEncoding;
  readonly parameters: readonly SqlParameter[];
  /** Time that the engine may work on it, fetching included. */
  readonly timeoutMs: number;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal;
}

/** The result of a statement, as far as it has been fetched. */
export interface SqlCursor {
  readonly shape: StatementShape;
  /** Errors  those of execute */
  fetch(maxRows: number): Promise<SqlBatch>;
  /** Gives up what has not been fetched. */
  close(): void;
}

/** The engine of one organization, in a process of its own. */
export interface SqlEngine {
  readonly isEnded: boolean;
  /** Statements at work, open results included. */
  readonly statementCount: number;
  /** Statements that come after it see this world. Errors  Fault where it cannot be opened */
  open(world: SqlWorld): Promise<void>;
  /** Errors  those of execute */
  describe(sql: string, options: Pick<StatementOptions, 'timeoutMs' | 'signal'>): Promise<StatementShape>;
  /**
   * Errors  Refusal `sql_statement_invalid`, `sql_statement_refused`, `sql_statement_timeout`,
   *         `sql_resources_exceeded`, `sql_engine_failed`; rejects with the signal's reason
   */
  execute(sql: string, options: StatementOptions): Promise<SqlCursor>;
  /** Ends the process, and what is at work. */
  close(): void;
}

/** @param onEnd called once, when the process has ended for whatever reason */
export function startEngine(limits: EngineLimits, onEnd: () => void): SqlEngine {
  const channel = openEngineChannel(() => {
    clearInterval(looking);
    onEnd();
  });
  let statementCount = 0;
  let lastId = 0;
  const looking = setInterval(() => {
    const bytes = statementCount === 0 ? undefined : channel.residentBytes();
    if (bytes !== undefined && bytes > limits.memoryBytes + SQL_PROCESS_OVERHEAD_BYTES) {
      channel.end(new Refusal('sql_resources_exceeded', 'Statements took more memory than they may have.'));
    }
  }, MEMORY_LOOK_INTERVAL_MS);
  looking.unref();

  /** Asks for a piece of work that can be interrupted; what does not heed it in time goes with the process. */
  const work = async <Kind extends 'describe' | 'start' | 'fetch'>(
    request: Extract<EngineRequest, { readonly kind: Kind }>,
    statementId: number,
    budget: Budget,
  ) => {
    let stopped: unknown;
    let grace: NodeJS.Timeout | undefined;
    const stop = (reason: unknown): void => {
      if (stopped !== undefined) return;
      stopped = reason;
      if (!channel.isEnded) channel.ask({ kind: 'interrupt', statementId }).catch(() => undefined);
      grace = setTimeout(() => channel.end(reason as Error), SQL_INTERRUPT_GRACE_MS);
    };
    const leave = budget.enter(stop);
    try {
      const answer = await channel.ask(request);
      // It came all the same, but too late: what goes on after an end could be half of something.
      if (stopped !== undefined) throw stopped as Error;
      return answer;
    } catch (error) {
      throw stopped ?? refusalOf(error);
    } finally {
      clearTimeout(grace);
      leave();
    }
  };

  return {
    get isEnded() {
      return channel.isEnded;
    },
    get statementCount() {
      return statementCount;
    },
    async open(world) {
      const late = setTimeout(
        () => channel.end(new Fault('A SQL engine did not open its tables in time.')),
        SQL_ENGINE_START_MAX_MS,
      );
      try {
        await channel.ask({ kind: 'open', world, limits });
      } catch (cause) {
        throw new Fault('A SQL engine could not open its tables.', { cause });
      } finally {
        clearTimeout(late);
      }
    },
    async describe(sql, { timeoutMs, signal }) {
      return work({ kind: 'describe', sql }, 0, createBudget(timeoutMs, signal));
    },
    async execute(sql, { encoding, parameters, timeoutMs, signal }) {
      const statementId = (lastId += 1);
      const budget = createBudget(timeoutMs, signal);
      let isOpen = true;
      statementCount += 1;
      const close = (): void => {
        if (!isOpen) return;
        isOpen = false;
        statementCount -= 1;
        if (!channel.isEnded) channel.ask({ kind: 'close', statementId }).catch(() => undefined);
      };
      const step = async <Result>(result: Promise<Result>): Promise<Result> => {
        try {
          return await result;
        } catch (error) {
          close();
          throw error;
        }
      };
      const shape = await step(
        work({ kind: 'start', statementId, sql, parameters, encoding }, statementId, budget),
      );
      return {
        shape,
        fetch: (maxRows) => step(work({ kind: 'fetch', statementId, maxRows }, statementId, budget)),
        close,
      };
    },
    close: () => channel.end(new Refusal('sql_engine_failed', 'The SQL engine was closed.')),
  };
}

/** Time of the engine that is left to a statement, over all its pieces of work. */
interface Budget {
  /**
   * Begins a piece; `stop` is called when time is over or the signal says so. The result ends the piece.
   * Errors  the signal's reason, where it was given before
   */
  enter(stop: (reason: unknown) => void): () => void;
}

function createBudget(timeoutMs: number, signal: AbortSignal): Budget {
  let leftMs = timeoutMs;
  return {
    enter(stop) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const onAbort = (): void => stop(signal.reason);
      const timer = setTimeout(() => stop(timeoutRefusal(timeoutMs)), Math.max(0, leftMs));
      signal.addEventListener('abort', onAbort, { once: true });
      return () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        leftMs -= performance.now() - startedAt;
      };
    },
  };
}

function timeoutRefusal(timeoutMs: number): Refusal {
  return new Refusal('sql_statement_timeout', `The statement ran longer than ${timeoutMs / 1000} s.`);
}

const CODES = {
  invalid: 'sql_statement_invalid',
  refused: 'sql_statement_refused',
  resources: 'sql_resources_exceeded',
  interrupted: 'sql_engine_failed',
} as const;

function refusalOf(error: unknown): unknown {
  if (error instanceof StatementFailure) return new Refusal(CODES[error.kind], error.message);
  if (error instanceof Refusal) return error;
  return new Refusal('sql_engine_failed', 'The SQL engine ended. Ask again: a new one takes its place.', {
    retryAfterSeconds: 1,
  });
}
