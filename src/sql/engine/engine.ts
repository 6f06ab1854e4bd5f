import { Fault, Refusal } from '../../errors.js';
import { SQL_ENGINE_START_MAX_MS, SQL_INTERRUPT_GRACE_MS, SQL_PROCESS_OVERHEAD_BYTES } from '../../limits.js';
import { EngineChannel } from './channel.js';
import { StatementFailure } from './failure.js';
import type {
  EngineAnswers,
  EngineRequest,
  SqlBatch,
  SqlEncoding,
  SqlParameter,
  StatementShape,
} from './messages.js';
import type { EngineLimits } from './world.js';
import type { SqlWorld } from '../world.js';

const MEMORY_LOOK_INTERVAL_MS = 100;

interface StatementOptions {
  readonly encoding: SqlEncoding;
  readonly parameters: readonly SqlParameter[];
  /** Time limit of the engine's work, including fetches. */
  readonly timeoutMs: number;
  /** Cancels the statement, with its reason. */
  readonly signal: AbortSignal;
}

/** A cursor over the result of a statement. */
export interface SqlCursor {
  readonly shape: StatementShape;
  /** Fetches the next rows. Errors: those of `SqlEngine.execute` */
  fetch(maxRows: number): Promise<SqlBatch>;
  /** Discards the remaining rows. */
  close(): void;
}

/**
 * Starts the process of an engine.
 * @param onEnd  called once when the process has ended for any reason
 */
export function startEngine(limits: EngineLimits, onEnd: () => void): SqlEngine {
  return new SqlEngine(limits, onEnd);
}

/** A started statement. */
interface OpenStatement {
  readonly id: number;
  readonly budget: Budget;
  isOpen: boolean;
}

type Work = 'describe' | 'start' | 'fetch';

/** The engine of one organization, in a process of its own. */
export class SqlEngine {
  readonly #limits: EngineLimits;
  readonly #channel: EngineChannel;
  readonly #looking: NodeJS.Timeout;
  #statementCount = 0;
  #lastId = 0;

  constructor(limits: EngineLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#channel = new EngineChannel(() => {
      clearInterval(this.#looking);
      onEnd();
    });
    this.#looking = setInterval(() => this.#lookAtMemory(), MEMORY_LOOK_INTERVAL_MS).unref();
  }

  get isEnded(): boolean {
    return this.#channel.isEnded;
  }

  /** Number of statements that run or have an open cursor. */
  get statementCount(): number {
    return this.#statementCount;
  }

  /** Opens the tables that later statements read. Errors: Fault if they cannot be opened in time */
  async open(world: SqlWorld): Promise<void> {
    const late = setTimeout(
      () => this.#channel.end(new Fault('A SQL engine did not open its tables in time.')),
      SQL_ENGINE_START_MAX_MS,
    );
    try {
      await this.#channel.ask({ kind: 'open', world, limits: this.#limits });
    } catch (cause) {
      throw new Fault('A SQL engine could not open its tables.', { cause });
    } finally {
      clearTimeout(late);
    }
  }

  /** Returns parameters and columns of a statement without executing it. Errors: those of `execute` */
  async describe(
    sql: string,
    { timeoutMs, signal }: Pick<StatementOptions, 'timeoutMs' | 'signal'>,
  ): Promise<StatementShape> {
    const statementId = (this.#lastId += 1);
    return this.#work({ kind: 'describe', statementId, sql }, statementId, new Budget(timeoutMs, signal));
  }

  /**
   * Starts a statement.
   * Errors  Refusal `sql_statement_invalid`, `sql_statement_refused`, `sql_statement_timeout`,
   *         `sql_resources_exceeded`, `sql_engine_failed`; the signal's reason
   */
  async execute(sql: string, options: StatementOptions): Promise<SqlCursor> {
    const { encoding, parameters, timeoutMs, signal } = options;
    const statementId = (this.#lastId += 1);
    const statement = { id: statementId, budget: new Budget(timeoutMs, signal), isOpen: true };
    this.#statementCount += 1;
    const shape = await this.#step<'start'>(
      { kind: 'start', statementId, sql, parameters, encoding },
      statement,
    );
    return {
      shape,
      fetch: (maxRows) => this.#step<'fetch'>({ kind: 'fetch', statementId, maxRows }, statement),
      close: () => this.#close(statement),
    };
  }

  /** Kills the process and its statements. */
  close(): void {
    this.#channel.end(new Refusal('sql_engine_failed', 'The SQL engine was closed.'));
  }

  /** Runs one step of a statement. The first failure closes the statement. */
  async #step<Kind extends Work>(
    request: Extract<EngineRequest, { readonly kind: Kind }>,
    statement: OpenStatement,
  ): Promise<EngineAnswers[Kind]> {
    try {
      return await this.#work<Kind>(request, statement.id, statement.budget);
    } catch (error) {
      this.#close(statement);
      throw error;
    }
  }

  /** Runs a step that can be interrupted. If it does not stop within the grace period, the process is killed. */
  async #work<Kind extends Work>(
    request: Extract<EngineRequest, { readonly kind: Kind }>,
    statementId: number,
    budget: Budget,
  ): Promise<EngineAnswers[Kind]> {
    let stopped: unknown;
    let grace: NodeJS.Timeout | undefined;
    const stop = (reason: unknown): void => {
      if (stopped !== undefined) return;
      stopped = reason;
      this.#send({ kind: 'interrupt', statementId });
      grace = setTimeout(() => this.#channel.end(reason as Error), SQL_INTERRUPT_GRACE_MS);
    };
    const leave = budget.enter(stop);
    try {
      const answer = await this.#channel.ask<Kind>(request);
      // An answer after the interrupt could be incomplete.
      if (stopped !== undefined) throw stopped as Error;
      return answer;
    } catch (error) {
      throw stopped ?? refusalOf(error);
    } finally {
      clearTimeout(grace);
      leave();
    }
  }

  #close(statement: OpenStatement): void {
    if (!statement.isOpen) return;
    statement.isOpen = false;
    this.#statementCount -= 1;
    this.#send({ kind: 'close', statementId: statement.id });
  }

  /** Sends a request without waiting for the answer. */
  #send(request: Extract<EngineRequest, { readonly kind: 'interrupt' | 'close' }>): void {
    if (!this.#channel.isEnded) this.#channel.ask(request).catch(() => undefined);
  }

  #lookAtMemory(): void {
    const bytes = this.#statementCount === 0 ? undefined : this.#channel.residentBytes();
    if (bytes === undefined || bytes <= this.#limits.memoryBytes + SQL_PROCESS_OVERHEAD_BYTES) return;
    this.#channel.end(
      new Refusal('sql_resources_exceeded', 'Statements took more memory than they may have.'),
    );
  }
}

/** The remaining engine time of a statement, over all its steps. */
class Budget {
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  #leftMs: number;

  constructor(timeoutMs: number, signal: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#leftMs = timeoutMs;
  }

  /**
   * Begins a step. `stop` is called when the time is up or the signal aborts. The returned function ends the step.
   * Errors  the signal's reason, if it is aborted already
   */
  enter(stop: (reason: unknown) => void): () => void {
    const signal = this.#signal;
    signal.throwIfAborted();
    const startedAt = performance.now();
    const onAbort = (): void => stop(signal.reason);
    const onLate = (): void => stop(timeoutRefusal(this.#timeoutMs));
    const timer = setTimeout(onLate, Math.max(0, this.#leftMs));
    signal.addEventListener('abort', onAbort, { once: true });
    return () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#leftMs -= performance.now() - startedAt;
    };
  }
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
