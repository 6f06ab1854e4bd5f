import { POSTGRES_PORTALS_MAX_COUNT, POSTGRES_STATEMENTS_MAX_COUNT } from '../limits.js';
import type { SqlCursor } from '../sql/engine/engine.js';
import type { SqlParameter, StatementShape } from '../sql/engine/messages.js';
import {
  BIND_COMPLETE,
  CLOSE_COMPLETE,
  commandComplete,
  dataRow,
  EMPTY_QUERY,
  NO_DATA,
  parameterDescription,
  PARSE_COMPLETE,
  PORTAL_SUSPENDED,
  readyForQuery,
  rowDescription,
} from './wire/answers.js';
import { shownColumn, type CommandAnswer } from './commands.js';
import type { Frame } from './wire/frames.js';
import { MessageReader } from './wire/message-reader.js';
import { readParameters } from './wire/parameter-values.js';
import { POSTGRES_TYPE_TEXT } from './parameters.js';
import { ProtocolFault } from './wire/protocol-fault.js';
import { sendRows } from './send-rows.js';
import type { SessionState, Write } from './session-state.js';
import { splitStatements } from './split-statements.js';

interface Prepared {
  readonly sql: string;
  /** Types from the client or from describe; 0 for an open type. */
  typeIds: readonly number[];
}

interface Portal {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  readonly formats: readonly number[];
  cursor?: SqlCursor;
  isDone?: boolean;
}

/** The extended query protocol of one session: prepared statements and portals. */
export class ExtendedProtocol {
  readonly #state: SessionState;
  readonly #write: Write;
  readonly #statements = new Map<string, Prepared>();
  readonly #portals = new Map<string, Portal>();
  /** True after a failure until the next Sync. */
  #isPassingOver = false;

  constructor(state: SessionState, write: Write) {
    this.#state = state;
    this.#write = write;
  }

  /** Answers a message. After an error, messages up to the next Sync are skipped. Errors  ProtocolFault and refusals */
  async answer({ type = '', body }: Frame): Promise<void> {
    if (type === 'S') return this.#sync();
    if (this.#isPassingOver) return;
    try {
      await this.#answer(type, new MessageReader(body));
    } catch (error) {
      this.#isPassingOver = true;
      throw error;
    }
  }

  /** Closes every portal. */
  close(): void {
    for (const name of [...this.#portals.keys()]) this.#closePortal(name);
  }

  #sync(): Promise<void> {
    this.#isPassingOver = false;
    if (this.#state.status !== 'T') this.close();
    return this.#write(readyForQuery(this.#state.status));
  }

  async #answer(type: string, reader: MessageReader): Promise<void> {
    switch (type) {
      case 'P':
        return this.#parse(reader);
      case 'B':
        return this.#bind(reader);
      case 'D':
        return this.#describe(reader);
      case 'E':
        return this.#execute(reader);
      case 'C':
        return this.#close(reader);
      case 'H':
        // Output is not buffered, so there is nothing to flush.
        return;
      default:
        throw new ProtocolFault('08P01', `The message type ${JSON.stringify(type)} is unknown.`, true);
    }
  }

  async #parse(reader: MessageReader): Promise<void> {
    const name = reader.text();
    const pieces = splitStatements(reader.text());
    if (pieces.length > 1)
      throw new ProtocolFault('42601', 'A prepared statement must be a single statement.');
    if (name !== '' && this.#statements.has(name)) {
      throw new ProtocolFault('42P05', `The prepared statement "${name}" already exists.`);
    }
    if (this.#statements.size >= POSTGRES_STATEMENTS_MAX_COUNT) {
      throw new ProtocolFault(
        '53400',
        `A session has at most ${POSTGRES_STATEMENTS_MAX_COUNT} prepared statements.`,
      );
    }
    const typeIds = Array.from({ length: Math.max(0, reader.int16()) }, () => reader.int32());
    this.#statements.set(name, { sql: pieces[0] ?? '', typeIds });
    await this.#write(PARSE_COMPLETE);
  }

  async #bind(reader: MessageReader): Promise<void> {
    const name = reader.text();
    const { sql, typeIds } = this.#statementNamed(reader.text());
    const parameters = readParameters(reader, readFormats(reader), typeIds);
    this.#closePortal(name);
    if (this.#portals.size >= POSTGRES_PORTALS_MAX_COUNT) {
      throw new ProtocolFault('53400', `A session has at most ${POSTGRES_PORTALS_MAX_COUNT} portals.`);
    }
    this.#portals.set(name, { sql, parameters, formats: readFormats(reader) });
    await this.#write(BIND_COMPLETE);
  }

  async #describe(reader: MessageReader): Promise<void> {
    const isStatement = reader.bytes(1).toString() === 'S';
    const name = reader.text();
    if (isStatement) return this.#describeStatement(this.#statementNamed(name));
    return this.#describePortal(this.#portalNamed(name));
  }

  async #describeStatement(prepared: Prepared): Promise<void> {
    const { sql, typeIds } = prepared;
    const command = sql === '' ? undefined : this.#state.peek(sql);
    const shape = sql === '' || command !== undefined ? NO_SHAPE : await this.#state.describe(sql);
    const count = Math.max(typeIds.length, shape.parameterTypeIds.length);
    const parameterTypes = Array.from(
      { length: count },
      (_, index) => typeIds[index] || shape.parameterTypeIds[index] || POSTGRES_TYPE_TEXT,
    );
    // The client encodes its values with the described types.
    prepared.typeIds = parameterTypes;
    const columns = columnsOf(command) ?? shape.columns ?? [];
    const rows = columns.length === 0 ? NO_DATA : rowDescription(columns, []);
    await this.#write(Buffer.concat([parameterDescription(parameterTypes), rows]));
  }

  async #describePortal(portal: Portal): Promise<void> {
    const command = portal.sql === '' ? undefined : this.#state.peek(portal.sql);
    const columns = columnsOf(command) ?? [];
    if (portal.sql === '' || command !== undefined) {
      return this.#write(columns.length === 0 ? NO_DATA : rowDescription(columns, portal.formats));
    }
    const { shape } = await this.#open(portal);
    await this.#write(rowDescription(shape.columns ?? [], portal.formats));
  }

  async #execute(reader: MessageReader): Promise<void> {
    const portal = this.#portalNamed(reader.text());
    const rowLimit = reader.int32();
    if (portal.sql === '') return this.#write(EMPTY_QUERY);
    const command = this.#state.command(portal.sql);
    if (command !== undefined) {
      const row = command.value === undefined ? [] : [dataRow([command.value.text])];
      return this.#write(Buffer.concat([...row, commandComplete(command.tag)]));
    }
    if (portal.isDone) return this.#write(commandComplete('SELECT 0'));
    const maxRows = rowLimit > 0 ? rowLimit : Infinity;
    const { count, isDone } = await sendRows(await this.#open(portal), maxRows, this.#write);
    portal.isDone = isDone;
    await this.#write(isDone ? commandComplete(`SELECT ${count}`) : PORTAL_SUSPENDED);
  }

  async #close(reader: MessageReader): Promise<void> {
    const isStatement = reader.bytes(1).toString() === 'S';
    const name = reader.text();
    if (isStatement) this.#statements.delete(name);
    else this.#closePortal(name);
    await this.#write(CLOSE_COMPLETE);
  }

  async #open(portal: Portal): Promise<SqlCursor> {
    return (portal.cursor ??= await this.#state.start(portal.sql, portal.parameters, portal.formats));
  }

  #closePortal(name: string): void {
    this.#portals.get(name)?.cursor?.close();
    this.#portals.delete(name);
  }

  #statementNamed(name: string): Prepared {
    const statement = this.#statements.get(name);
    if (statement !== undefined) return statement;
    throw new ProtocolFault('26000', `There is no prepared statement "${name}".`);
  }

  #portalNamed(name: string): Portal {
    const portal = this.#portals.get(name);
    if (portal !== undefined) return portal;
    throw new ProtocolFault('34000', `There is no portal "${name}".`);
  }
}

const NO_SHAPE: StatementShape = { parameterTypeIds: [] };

function columnsOf(command: CommandAnswer | undefined) {
  return command?.value === undefined ? undefined : [shownColumn(command.value.name)];
}

function readFormats(reader: MessageReader): readonly number[] {
  return Array.from({ length: Math.max(0, reader.int16()) }, () => reader.int16());
}
