import { ARROW_STREAM_TYPE, type SqlQueryRequest } from '../../contract/sql.js';
import { linkAborts } from '../../abort.js';
import { Refusal } from '../../errors.js';
import { SQL_COPIES_SWEEP_INTERVAL_MS, SQL_CURSOR_IDLE_MS, SQL_RESULT_MAX_ROWS } from '../../limits.js';
import type { SqlCursor } from '../../sql/engine/engine.js';
import type { SqlEncoding, SqlParameter, StatementShape } from '../../sql/engine/messages.js';
import type { RequestContext } from '../context.js';
import type { BytesReply, WrittenReply } from '../reply.js';
import type { SqlCredentials, SqlLogin } from './credentials.js';
import type { SqlEngines, SqlTurn } from './engines.js';
import { arrowReply, jsonEncoding, jsonReply, storedArrowReply } from './present.js';
import type { OrganizationTables } from './organization-tables.js';

/** One statement, for the audit log. */
interface SqlStatementRecord {
  readonly door: 'http' | 'postgres';
  readonly organizationId: string;
  readonly credentialId: string;
  readonly sql: string;
  /** `completed`, `ended` if the client stopped before the last row, or the code of the refusal. */
  readonly outcome: string;
  readonly rowCount: number;
  readonly durationMs: number;
}

interface SqlStatement {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  readonly encoding: SqlEncoding;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface SqlListeners {
  readonly onStatement: (record: SqlStatementRecord) => void;
  readonly onFault: (error: unknown) => void;
}

interface SqlDependencies {
  readonly credentials: SqlCredentials;
  readonly engines: SqlEngines;
  readonly tables: Pick<OrganizationTables, 'start' | 'removeUnlisted'>;
  readonly timeoutMs: number;
}

/** Executes SQL statements on the tables of the caller's organization. */
export class Sql {
  readonly #credentials: SqlCredentials;
  readonly #engines: SqlEngines;
  readonly #tables: Pick<OrganizationTables, 'start' | 'removeUnlisted'>;
  readonly #longestMs: number;
  #listeners: SqlListeners | undefined;
  #sweeping: NodeJS.Timeout | undefined;

  constructor({ credentials, engines, tables, timeoutMs }: SqlDependencies) {
    this.#credentials = credentials;
    this.#engines = engines;
    this.#tables = tables;
    this.#longestMs = timeoutMs;
  }

  /**
   * Executes a statement and returns its response.
   * @param isStored whether the response is stored under an Idempotency-Key
   * Errors  those of execute; Refusal `response_too_large`
   */
  async query(
    { sql, parameters = [], limit, timeout_seconds: seconds }: SqlQueryRequest,
    mediaType: string,
    isStored: boolean,
    context: RequestContext,
  ): Promise<WrittenReply | BytesReply> {
    const login = this.#credentials.resume(context.keyId);
    const isArrow = mediaType === ARROW_STREAM_TYPE;
    const cursor = await this.execute(login, 'http', {
      sql,
      parameters,
      encoding: isArrow ? { kind: 'arrow' } : jsonEncoding(limit),
      ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
      signal: context.signal,
    });
    if (!isArrow) return jsonReply(cursor, limit);
    return isStored ? storedArrowReply(cursor) : arrowReply(cursor);
  }

  /**
   * Executes a statement for a login. The abort of the signal, or the end of the login, ends it.
   * Errors  those of SqlEngine.execute and SqlEngines.enter; Refusal `invalid_sql_credential`
   */
  async execute(
    login: SqlLogin,
    door: SqlStatementRecord['door'],
    statement: SqlStatement,
  ): Promise<SqlCursor> {
    const startedAt = performance.now();
    const { signal, leave } = endWithLogin(this.#credentials, login, statement.signal);
    let turn: SqlTurn | undefined;
    const finish = (outcome: string, rowCount: number): void => {
      const { organizationId, credentialId } = login;
      const durationMs = performance.now() - startedAt;
      const { sql } = statement;
      const record = { door, organizationId, credentialId, sql, outcome, rowCount, durationMs };
      this.#listeners?.onStatement(record);
      turn?.leave();
      leave();
    };
    try {
      turn = await this.#engines.enter(login.organizationId, signal);
      const timeoutMs = Math.min(this.#longestMs, statement.timeoutMs ?? this.#longestMs);
      const cursor = await turn.engine.execute(statement.sql, { ...statement, timeoutMs, signal });
      return new ObservedCursor(cursor, finish);
    } catch (error) {
      finish(codeOf(error), 0);
      throw error;
    }
  }

  /** Errors  those of execute */
  async describe(login: SqlLogin, sql: string, outer: AbortSignal): Promise<StatementShape> {
    const { signal, leave } = endWithLogin(this.#credentials, login, outer);
    try {
      const turn = await this.#engines.enter(login.organizationId, signal);
      try {
        return await turn.engine.describe(sql, { timeoutMs: this.#longestMs, signal });
      } finally {
        turn.leave();
      }
    } finally {
      leave();
    }
  }

  counts(): ReturnType<SqlEngines['counts']> {
    return this.#engines.counts();
  }

  /**
   * Starts to report each finished statement and internal failures to the listeners, and to remove copies of removed
   * releases.
   * Errors  those of OrganizationTables.start
   */
  async start(listeners: SqlListeners): Promise<void> {
    this.#listeners = listeners;
    await this.#tables.start(listeners.onFault);
    const sweep = (): void => {
      if (this.#engines.counts().statements === 0) this.#tables.removeUnlisted();
    };
    this.#sweeping = setInterval(sweep, SQL_COPIES_SWEEP_INTERVAL_MS).unref();
  }

  /** Ends the engines and running statements. */
  stop(): void {
    clearInterval(this.#sweeping);
    this.#engines.close();
  }
}

/** A signal that also aborts when the login ends. */
function endWithLogin(credentials: SqlCredentials, login: SqlLogin, outer: AbortSignal) {
  const ending = linkAborts(outer);
  const unwatch = credentials.watch(login, () =>
    ending.abort(
      new Refusal('invalid_sql_credential', 'The SQL credential was revoked or has a new password.'),
    ),
  );
  const leave = (): void => {
    ending.release();
    unwatch();
  };
  return { signal: ending.signal, leave };
}

/** Reports the end of a result once: its last row, a failure, or an early close by the consumer. */
class ObservedCursor implements SqlCursor {
  readonly shape: StatementShape;
  readonly #cursor: SqlCursor;
  readonly #onEnd: (outcome: string, rowCount: number) => void;
  #rowCount = 0;
  #idle: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(cursor: SqlCursor, onEnd: (outcome: string, rowCount: number) => void) {
    this.shape = cursor.shape;
    this.#cursor = cursor;
    this.#onEnd = onEnd;
    this.#wait();
  }

  async fetch(maxRows: number): ReturnType<SqlCursor['fetch']> {
    clearTimeout(this.#idle);
    try {
      const batch = await this.#cursor.fetch(maxRows);
      this.#rowCount += batch.rowCount;
      if (this.#rowCount > SQL_RESULT_MAX_ROWS) throw tooManyRows();
      if (batch.isDone) this.#end('completed');
      else this.#wait();
      return batch;
    } catch (error) {
      this.#end(codeOf(error));
      throw error;
    }
  }

  close(): void {
    this.#end('ended');
  }

  #wait(): void {
    this.#idle = setTimeout(() => this.#end('ended'), SQL_CURSOR_IDLE_MS).unref();
  }

  #end(outcome: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idle);
    this.#cursor.close();
    this.#onEnd(outcome, this.#rowCount);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Refusal ? error.code : 'internal_error';
}

function tooManyRows(): Refusal {
  return new Refusal('sql_resources_exceeded', `A result has at most ${SQL_RESULT_MAX_ROWS} rows.`);
}
