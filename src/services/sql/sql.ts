import { ARROW_STREAM_TYPE, type SqlQueryRequest, type SqlResult } from '../../contract/sql.js';
import { linkAborts } from '../../abort.js';
import { Refusal } from '../../errors.js';
import {
  INLINE_RESPONSE_MAX_BYTES,
  SQL_BATCH_MAX_ROWS,
  SQL_CURSOR_IDLE_MS,
  SQL_RESULT_MAX_ROWS,
} from '../../limits.js';
import type { SqlCursor } from '../../sql/engine/engine.js';
import type { SqlEncoding, SqlParameter, StatementShape } from '../../sql/engine/messages.js';
import type { RequestContext } from '../context.js';
import type { Reply } from '../reply.js';
import type { SqlCredentials, SqlLogin } from './credentials.js';
import type { SqlEngines } from './engines.js';
import type { SqlWorlds } from './worlds.js';

/** One statement, for the audit log. */
export interface SqlStatementRecord {
  readonly door: 'http' | 'postgres';
  readonly organizationId: string;
  readonly credentialId: string;
  readonly sql: string;
  /** `completed`, `ended` by the client before its last row, or the code of the refusal. */
  readonly outcome: string;
  readonly rowCount: number;
  readonly durationMs: number;
}

export interface SqlStatement {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  readonly encoding: SqlEncoding;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface Sql {
  /** Errors  those of execute; Refusal `response_too_large` */
  query(request: SqlQueryRequest, mediaType: string, context: RequestContext): Promise<Reply<SqlResult>>;
  /**
   * Executes a statement for a login; its end, or that of the login, ends it.
   * Errors  those of SqlEngine.execute and SqlEngines.enter; Refusal `invalid_sql_credential`
   */
  execute(login: SqlLogin, door: SqlStatementRecord['door'], statement: SqlStatement): Promise<SqlCursor>;
  /** Errors  those of execute */
  describe(login: SqlLogin, sql: string, signal: AbortSignal): Promise<StatementShape>;
  counts: SqlEngines['counts'];
  /** Tells of each statement when it has ended, and of failures that are ours. */
  start(listeners: SqlListeners): Promise<void>;
  /** Ends the engines, and what is at work. */
  stop(): void;
}

export interface SqlListeners {
  readonly onStatement: (record: SqlStatementRecord) => void;
  readonly onFault: (error: unknown) => void;
}

export interface SqlParts {
  readonly credentials: SqlCredentials;
  readonly engines: SqlEngines;
  readonly worlds: Pick<SqlWorlds, 'start'>;
  readonly timeoutMs: number;
}

export function createSql({ credentials, engines, worlds, timeoutMs: longestMs }: SqlParts): Sql {
  let listeners: SqlListeners | undefined;

  const execute: Sql['execute'] = async (login, door, statement) => {
    const startedAt = performance.now();
    const { signal, leave } = endWithLogin(credentials, login, statement.signal);
    let rowCount = 0;
    let isTold = false;
    const tell = (outcome: string): void => {
      if (isTold) return;
      isTold = true;
      const { organizationId, credentialId } = login;
      const durationMs = performance.now() - startedAt;
      const { sql } = statement;
      listeners?.onStatement({ door, organizationId, credentialId, sql, outcome, rowCount, durationMs });
    };
    try {
      const turn = await engines.enter(login.organizationId, signal);
      const timeoutMs = Math.min(longestMs, statement.timeoutMs ?? longestMs);
      const finish = (outcome: string): void => {
        tell(outcome);
        turn.leave();
        leave();
      };
      try {
        const cursor = await turn.engine.execute(statement.sql, { ...statement, timeoutMs, signal });
        return observe(cursor, finish, (count) => {
          rowCount += count;
          if (rowCount > SQL_RESULT_MAX_ROWS) throw tooManyRows();
        });
      } catch (error) {
        turn.leave();
        throw error;
      }
    } catch (error) {
      tell(codeOf(error));
      leave();
      throw error;
    }
  };

  return {
    execute,
    async describe(login, sql, outer) {
      const { signal, leave } = endWithLogin(credentials, login, outer);
      try {
        const turn = await engines.enter(login.organizationId, signal);
        try {
          return await turn.engine.describe(sql, { timeoutMs: longestMs, signal });
        } finally {
          turn.leave();
        }
      } finally {
        leave();
      }
    },
    async query({ sql, parameters = [], limit, timeout_seconds: seconds }, mediaType, context) {
      const login = credentials.resume(context.keyId);
      const isArrow = mediaType === ARROW_STREAM_TYPE;
      const cursor = await execute(login, 'http', {
        sql,
        parameters,
        encoding: { kind: isArrow ? 'arrow' : 'json' },
        ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
        signal: context.signal,
      });
      return isArrow ? arrowReply(cursor) : jsonReply(cursor, limit);
    },
    counts: () => engines.counts(),
    async start(given) {
      listeners = given;
      await worlds.start(given.onFault);
    },
    stop: () => engines.close(),
  };
}

/** A signal that also ends with the login. */
function endWithLogin(credentials: SqlCredentials, login: SqlLogin, outer: AbortSignal) {
  const ending = linkAborts(outer);
  const unwatch = credentials.watch(login, () =>
    ending.abort(
      new Refusal('invalid_sql_credential', 'The SQL credential was revoked or given a new password.'),
    ),
  );
  const leave = (): void => {
    ending.release();
    unwatch();
  };
  return { signal: ending.signal, leave };
}

/** Tells of a result's end, whichever comes first: its last row, a failure, or that nobody wants more. */
function observe(
  cursor: SqlCursor,
  finish: (outcome: string) => void,
  onRows: (count: number) => void,
): SqlCursor {
  let isFinished = false;
  let idle: NodeJS.Timeout | undefined;
  const end = (outcome: string): void => {
    if (isFinished) return;
    isFinished = true;
    clearTimeout(idle);
    cursor.close();
    finish(outcome);
  };
  const wait = (): void => {
    idle = setTimeout(() => end('ended'), SQL_CURSOR_IDLE_MS).unref();
  };
  wait();
  return {
    shape: cursor.shape,
    async fetch(maxRows) {
      clearTimeout(idle);
      try {
        const batch = await cursor.fetch(maxRows);
        onRows(batch.rowCount);
        if (batch.isDone) end('completed');
        else wait();
        return batch;
      } catch (error) {
        end(codeOf(error));
        throw error;
      }
    },
    close: () => end('ended'),
  };
}

function codeOf(error: unknown): string {
  return error instanceof Refusal ? error.code : 'internal_error';
}

function tooManyRows(): Refusal {
  return new Refusal('sql_resources_exceeded', `A result has at most ${SQL_RESULT_MAX_ROWS} rows.`);
}

/** One row more than asked for tells whether there are more. */
async function jsonReply(cursor: SqlCursor, limit: number): Promise<Reply<SqlResult>> {
  const rows: unknown[][] = [];
  let bytes = 0;
  try {
    for (let isDone = false; !isDone && rows.length <= limit;) {
      const batch = await cursor.fetch(Math.min(SQL_BATCH_MAX_ROWS, limit + 1 - rows.length));
      for (const row of batch.rows ?? []) {
        bytes += JSON.stringify(row).length;
        if (bytes > INLINE_RESPONSE_MAX_BYTES && rows.length < limit) throw tooLarge(rows.length);
        rows.push(row as unknown[]);
      }
      isDone = batch.isDone;
    }
  } finally {
    cursor.close();
  }
  const isLimited = rows.length > limit;
  if (isLimited) rows.length = limit;
  const columns = (cursor.shape.columns ?? []).map(({ name, type }) => ({ name, type }));
  const value: SqlResult = {
    object: 'sql_result',
    columns,
    rows,
    row_count: rows.length,
    is_row_limit_reached: isLimited,
  };
  return { value, rowCount: rows.length };
}

function tooLarge(fitting: number): Refusal {
  return new Refusal(
    'response_too_large',
    `The answer exceeds 16 MiB; ${fitting} rows would fit. Ask for fewer, or for ${ARROW_STREAM_TYPE}.`,
    { fitting_row_count: fitting },
  );
}

/** The first batch is there before the answer begins: what fails at once is refused as anything is. */
async function arrowReply(cursor: SqlCursor): Promise<Reply<SqlResult>> {
  const first = await cursor.fetch(SQL_BATCH_MAX_ROWS);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let batch = first; ; batch = await cursor.fetch(SQL_BATCH_MAX_ROWS)) {
      if (batch.bytes !== undefined && batch.bytes.length > 0) yield batch.bytes;
      if (batch.isDone) return;
    }
  }
  const open = () => ({ bytes: bytes(), close: () => cursor.close() });
  return { value: undefined as never, bytes: { contentType: ARROW_STREAM_TYPE, open } };
}
