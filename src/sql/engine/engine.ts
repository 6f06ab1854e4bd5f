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
import type { EngineLimits } from './open-tables.js';
import type { SqlTables } from '../tables.js';

const MEMORY_LOOK_INTERVAL_MS = 100;

interface StatementOptions {
  readonly encoding: SqlEncoding;
  readonly parameters: readonly SqlParameter[];
  /** Time that the engine may spend on the statement, fetches included. */
  readonly timeoutMs: number;
  /** Aborts the statement. The statement fails with the signal's reason. */
  readonly signal: AbortSignal;
}

/** The result of a statement. Rows are computed as they are fetched. */
export interface SqlCursor {
  readonly shape: StatementShape;
  /** Errors  those of execute */
  fetch(maxRows: number): Promise<SqlBatch>;
  /** Discards the rows that are not fetched. */
  close(): void;
}

/**
 * Starts an engine.
 * @param onEnd called once, when the process has ended for any reason
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

/** The engine of one organization, in a separate process. */
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

  /** Number of statements in progress, open results included. */
  get statementCount(): number {
    return this.#statementCount;
  }

  /** Opens a snapshot for the statements that follow. Errors  Fault if it cannot be opened */
  async open(tables: SqlTables): Promise<void> {
    const late = setTimeout(
      () => this.#channel.end(new Fault('A SQL engine did not open its tables in time.')),
      SQL_ENGINE_START_MAX_MS,
    );
    try {
      await this.#channel.ask({ kind: 'open', tables, limits: this.#limits });
    } catch (cause) {
      throw new Fault('A SQL engine could not open its tables.', { cause });
    } finally {
      clearTimeout(late);
    }
  }

  /** Returns columns and parameter types without executing the statement. Errors  those of execute */
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
   *         `sql_resources_exceeded`, `sql_engine_failed`; rejects with the signal's reason
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

  /** Kills the process. Statements in progress fail. */
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

  /** Runs one step that can be interrupted. The process is killed if the step ignores the interrupt for too long. */
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
      // The answer arrived after the interrupt. It may be incomplete, so it is dropped.
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

  /** Sends a request whose answer is ignored. */
  #send(request: Extract<EngineRequest, { readonly kind: 'interrupt' | 'close' }>): void {
    if (!this.#channel.isEnded) this.#channel.ask(request).catch(() => undefined);
  }

  #lookAtMemory(): void {
    const bytes = this.#statementCount === 0 ? undefined : this.#channel.residentBytes();
    if (bytes === undefined || bytes <= this.#limits.memoryBytes + SQL_PROCESS_OVERHEAD_BYTES) return;
    this.#channel.end(new Refusal('sql_resources_exceeded', 'The statements exceeded their memory limit.'));
  }
}

/** Remaining engine time of a statement, over all its steps. */
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
   * Begins a step. `stop` is called at the timeout or when the signal aborts. The returned function ends the step.
   * Errors  the signal's reason if the signal has aborted before
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
  return new Refusal('sql_engine_failed', 'The SQL engine ended. Retry: a new engine starts.', {
    retryAfterSeconds: 1,
  });
}
