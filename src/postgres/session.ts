import { Refusal } from '../errors.js';
import { POSTGRES_MESSAGE_MAX_BYTES } from '../limits.js';
import type { SqlLogin } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import {
  commandComplete,
  EMPTY_QUERY,
  errorResponse,
  readyForQuery,
  rowDescription,
  type TransactionStatus,
} from './wire/answers.js';
import { readableCatalogQuery } from './catalog-queries.js';
import { answerCommand } from './commands.js';
import { createExtendedProtocol } from './extended.js';
import type { Frame, Frames } from './wire/frames.js';
import { readMessage } from './wire/message-reader.js';
import type { ServerParameters } from './parameters.js';
import { ProtocolFault } from './wire/protocol-fault.js';
import { commandMessages, sendRows } from './send-rows.js';
import type { SessionState, Write } from './session-state.js';
import { splitStatements } from './split-statements.js';

export interface SessionParts {
  readonly sql: Pick<Sql, 'execute' | 'describe'>;
  readonly login: SqlLogin;
  readonly parameters: ServerParameters;
  readonly versionText: string;
  readonly write: Write;
  /** Ends with the connection. */
  readonly signal: AbortSignal;
}

export interface Session {
  /** Answers messages until the client leaves. Errors  ProtocolFault that ends the connection */
  serve(frames: Frames): Promise<void>;
  /** Ends the statement at work, as its client asked by another connection. */
  cancel(): void;
}

/** Source  PostgreSQL, chapter "Message Flow" */
export function createSession(parts: SessionParts): Session {
  const { sql, login, write, signal } = parts;
  let status: TransactionStatus = 'I';
  let timeoutMs = 0;
  let cancelling = new AbortController();
  signal.addEventListener('abort', () => cancelling.abort(signal.reason), { once: true });

  const state: SessionState = {
    status: () => status,
    async start(text, parameters, formats) {
      requireSound(status);
      // A cancellation that came before this statement is not for it.
      if (cancelling.signal.aborted) cancelling = new AbortController();
      signal.throwIfAborted();
      const readable = readableCatalogQuery(text, parts.versionText);
      const encoding = { kind: 'postgres', formats } as const;
      return sql.execute(login, 'postgres', {
        sql: readable,
        parameters,
        encoding,
        ...(timeoutMs > 0 && { timeoutMs }),
        signal: cancelling.signal,
      });
    },
    command(text) {
      const answer = answerCommand(text, parts.parameters);
      if (answer?.transaction === 'begin') status = 'T';
      else if (answer?.transaction === 'end') status = 'I';
      else if (answer?.transaction === 'rollback') status = 'T';
      else if (answer !== undefined) requireSound(status);
      timeoutMs = answer?.timeoutMs ?? timeoutMs;
      return answer;
    },
    peek: (text) => answerCommand(text, parts.parameters),
  };
  const fail = (): void => {
    if (status === 'T') status = 'E';
  };
  const extended = createExtendedProtocol(state, {
    write,
    describe: (text) => sql.describe(login, readableCatalogQuery(text, parts.versionText), signal),
  });

  const simpleQuery = async ({ body }: Frame): Promise<void> => {
    try {
      const statements = splitStatements(readMessage(body).text());
      if (statements.length === 0) await write(EMPTY_QUERY);
      for (const statement of statements) await answerSimply(statement, state, write);
    } catch (error) {
      await refuse(error);
    }
    await write(readyForQuery(status));
  };

  return {
    cancel: () =>
      cancelling.abort(new ProtocolFault('57014', 'The statement was cancelled, as its user asked.')),
    async serve(frames) {
      try {
        for (;;) {
          const frame = await frames.next('typed', POSTGRES_MESSAGE_MAX_BYTES);
          if (frame === undefined || frame.type === 'X') return;
          if (frame.type === 'Q') await simpleQuery(frame);
          else await extended.answer(frame).catch((error: unknown) => refuse(error));
        }
      } finally {
        extended.close();
      }
    },
  };

  async function refuse(error: unknown): Promise<void> {
    const fault = faultOf(error);
    if (fault.isFatal) throw fault;
    fail();
    await write(errorResponse(fault));
  }
}

function requireSound(status: TransactionStatus): void {
  if (status !== 'E') return;
  throw new ProtocolFault('25P02', 'The transaction has failed; nothing is executed until its end.');
}

async function answerSimply(statement: string, state: SessionState, write: Write): Promise<void> {
  const command = state.command(statement);
  if (command !== undefined) return write(Buffer.concat(commandMessages(command, [])));
  const cursor = await state.start(statement, [], []);
  try {
    await write(rowDescription(cursor.shape.columns ?? [], []));
    const { count } = await sendRows(cursor, Infinity, write);
    await write(commandComplete(`SELECT ${count}`));
  } finally {
    cursor.close();
  }
}

const SQL_STATES: Readonly<Record<string, string>> = {
  sql_statement_invalid: '42601',
  sql_statement_refused: '42501',
  sql_statement_timeout: '57014',
  sql_resources_exceeded: '53200',
  sql_busy: '53300',
  sql_engine_failed: '58000',
  invalid_sql_credential: '57P01',
  server_stopping: '57P01',
};

/** What the client is told of an error; of our own faults, nothing but that. */
export function faultOf(error: unknown): ProtocolFault {
  if (error instanceof ProtocolFault) return error;
  if (!(error instanceof Refusal))
    return new ProtocolFault('XX000', 'The server failed; its log has the cause.');
  const sqlState = SQL_STATES[error.code] ?? '58000';
  return new ProtocolFault(sqlState, error.message, sqlState === '57P01');
}
