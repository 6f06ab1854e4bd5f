import { Refusal } from '../errors.js';
import { POSTGRES_MESSAGE_MAX_BYTES } from '../limits.js';
import { ExtendedProtocol } from './extended.js';
import { commandMessages, sendRows } from './send-rows.js';
import { SessionState, type SessionDependencies, type Write } from './session-state.js';
import { splitStatements } from './split-statements.js';
import {
  commandComplete,
  EMPTY_QUERY,
  errorResponse,
  readyForQuery,
  rowDescription,
} from './wire/answers.js';
import type { Frame, Frames } from './wire/frames.js';
import { MessageReader } from './wire/message-reader.js';
import { ProtocolFault } from './wire/protocol-fault.js';

/** An authenticated client. Source  PostgreSQL, chapter "Message Flow" */
export class Session {
  readonly #state: SessionState;
  readonly #extended: ExtendedProtocol;
  readonly #write: Write;

  constructor(dependencies: SessionDependencies) {
    this.#state = new SessionState(dependencies);
    this.#extended = new ExtendedProtocol(this.#state, dependencies.write);
    this.#write = dependencies.write;
  }

  /** Answers messages until the client disconnects. Errors  ProtocolFault that ends the connection */
  async serve(frames: Frames): Promise<void> {
    try {
      for (;;) {
        const frame = await frames.next('typed', POSTGRES_MESSAGE_MAX_BYTES);
        if (frame === undefined || frame.type === 'X') return;
        if (frame.type === 'Q') await this.#answerQuery(frame);
        else await this.#extended.answer(frame).catch((error: unknown) => this.#refuse(error));
      }
    } finally {
      this.#extended.close();
    }
  }

  /** Cancels the running statement at the request of another connection of its client. */
  cancel(): void {
    this.#state.cancel(new ProtocolFault('57014', 'The statement was cancelled by its user.'));
  }

  async #answerQuery({ body }: Frame): Promise<void> {
    try {
      const statements = splitStatements(new MessageReader(body).text());
      if (statements.length === 0) await this.#write(EMPTY_QUERY);
      for (const statement of statements) await answerSimply(statement, this.#state, this.#write);
    } catch (error) {
      await this.#refuse(error);
    }
    await this.#write(readyForQuery(this.#state.status));
  }

  async #refuse(error: unknown): Promise<void> {
    const fault = faultOf(error);
    if (fault.isFatal) throw fault;
    this.#state.fail();
    await this.#write(errorResponse(fault));
  }
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

/** Converts an error for the client. A fault of the server shows no details. */
export function faultOf(error: unknown): ProtocolFault {
  if (error instanceof ProtocolFault) return error;
  if (!(error instanceof Refusal))
    return new ProtocolFault('XX000', 'The server failed. The cause is in its log.');
  const sqlState = SQL_STATES[error.code] ?? '58000';
  return new ProtocolFault(sqlState, error.message, sqlState === '57P01');
}
