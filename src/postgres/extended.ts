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
import { readMessage, type MessageReader } from './wire/message-reader.js';
import { readParameters } from './wire/parameter-values.js';
import { POSTGRES_TYPE_TEXT } from './parameters.js';
import { ProtocolFault } from './wire/protocol-fault.js';
import { sendRows } from './send-rows.js';
import type { SessionState, Write } from './session-state.js';
import { splitStatements } from './split-statements.js';

/** The extended query protocol of one session: prepared statements and portals. */
export interface ExtendedProtocol {
  /** Errors  ProtocolFault and refusals; then messages up to the next Sync are passed over */
  answer(frame: Frame): Promise<void>;
  close(): void;
}

interface Prepared {
  readonly sql: string;
  /** As the client gave them, or was told them; 0 where the type is open. */
  typeIds: readonly number[];
}

interface Portal {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  readonly formats: readonly number[];
  cursor?: SqlCursor;
  isDone?: boolean;
}

interface ExtendedParts {
  readonly write: Write;
  readonly describe: (sql: string) => Promise<StatementShape>;
}

export function createExtendedProtocol(
  state: SessionState,
  { write, describe }: ExtendedParts,
): ExtendedProtocol {
  const statements = new Map<string, Prepared>();
  const portals = new Map<string, Portal>();
  let isPassingOver = false;

  const closePortal = (name: string): void => {
    portals.get(name)?.cursor?.close();
    portals.delete(name);
  };
  const closePortals = (): void => [...portals.keys()].forEach(closePortal);
  const statementNamed = (name: string): Prepared => {
    const known = statements.get(name);
    if (known !== undefined) return known;
    throw new ProtocolFault('26000', `There is no prepared statement "${name}".`);
  };
  const portalNamed = (name: string): Portal => {
    const known = portals.get(name);
    if (known !== undefined) return known;
    throw new ProtocolFault('34000', `There is no portal "${name}".`);
  };
  const open = async (portal: Portal): Promise<SqlCursor> =>
    (portal.cursor ??= await state.start(portal.sql, portal.parameters, portal.formats));

  const handlers: Readonly<Record<string, (reader: MessageReader) => Promise<void>>> = {
    async P(reader) {
      const name = reader.text();
      const pieces = splitStatements(reader.text());
      if (pieces.length > 1) throw new ProtocolFault('42601', 'A prepared statement is one statement.');
      if (name !== '' && statements.has(name)) {
        throw new ProtocolFault('42P05', `There is a prepared statement "${name}" already.`);
      }
      if (statements.size >= POSTGRES_STATEMENTS_MAX_COUNT) {
        throw new ProtocolFault('53400', `A session has at most ${POSTGRES_STATEMENTS_MAX_COUNT} of them.`);
      }
      const typeIds = Array.from({ length: Math.max(0, reader.int16()) }, () => reader.int32());
      statements.set(name, { sql: pieces[0] ?? '', typeIds });
      await write(PARSE_COMPLETE);
    },
    async B(reader) {
      const name = reader.text();
      const { sql, typeIds } = statementNamed(reader.text());
      const parameters = readParameters(reader, readFormats(reader), typeIds);
      closePortal(name);
      if (portals.size >= POSTGRES_PORTALS_MAX_COUNT) {
        throw new ProtocolFault('53400', `A session has at most ${POSTGRES_PORTALS_MAX_COUNT} portals.`);
      }
      portals.set(name, { sql, parameters, formats: readFormats(reader) });
      await write(BIND_COMPLETE);
    },
    async D(reader) {
      const isStatement = reader.bytes(1).toString() === 'S';
      const name = reader.text();
      if (isStatement) return describeStatement(statementNamed(name));
      return describePortal(portalNamed(name));
    },
    async E(reader) {
      const portal = portalNamed(reader.text());
      const maxRows = reader.int32();
      return execute(portal, maxRows > 0 ? maxRows : Infinity);
    },
    async C(reader) {
      const isStatement = reader.bytes(1).toString() === 'S';
      const name = reader.text();
      if (isStatement) statements.delete(name);
      else closePortal(name);
      await write(CLOSE_COMPLETE);
    },
    // Nothing is held back that could be flushed.
    H: () => Promise.resolve(),
  };

  const describeStatement = async (prepared: Prepared): Promise<void> => {
    const { sql, typeIds } = prepared;
    const command = sql === '' ? undefined : state.peek(sql);
    const shape = sql === '' || command !== undefined ? NO_SHAPE : await describe(sql);
    const count = Math.max(typeIds.length, shape.parameterTypeIds.length);
    const told = Array.from(
      { length: count },
      (_, index) => typeIds[index] || shape.parameterTypeIds[index] || POSTGRES_TYPE_TEXT,
    );
    // Whoever was told a type sends its values by it.
    prepared.typeIds = told;
    const columns = columnsOf(command) ?? shape.columns ?? [];
    const rows = columns.length === 0 ? NO_DATA : rowDescription(columns, []);
    await write(Buffer.concat([parameterDescription(told), rows]));
  };
  const describePortal = async (portal: Portal): Promise<void> => {
    const command = portal.sql === '' ? undefined : state.peek(portal.sql);
    const columns = columnsOf(command) ?? [];
    if (portal.sql === '' || command !== undefined) {
      return write(columns.length === 0 ? NO_DATA : rowDescription(columns, portal.formats));
    }
    const { shape } = await open(portal);
    await write(rowDescription(shape.columns ?? [], portal.formats));
  };
  const execute = async (portal: Portal, maxRows: number): Promise<void> => {
    if (portal.sql === '') return write(EMPTY_QUERY);
    const command = state.command(portal.sql);
    if (command !== undefined) {
      const row = command.value === undefined ? [] : [dataRow([command.value.text])];
      return write(Buffer.concat([...row, commandComplete(command.tag)]));
    }
    if (portal.isDone) return write(commandComplete('SELECT 0'));
    const { count, isDone } = await sendRows(await open(portal), maxRows, write);
    portal.isDone = isDone;
    await write(isDone ? commandComplete(`SELECT ${count}`) : PORTAL_SUSPENDED);
  };

  return {
    async answer({ type = '', body }) {
      if (type === 'S') {
        isPassingOver = false;
        if (state.status() !== 'T') closePortals();
        return write(readyForQuery(state.status()));
      }
      if (isPassingOver) return;
      const handler = handlers[type];
      try {
        if (handler === undefined) {
          throw new ProtocolFault(
            '08P01',
            `Messages of the type ${JSON.stringify(type)} are not known.`,
            true,
          );
        }
        await handler(readMessage(body));
      } catch (error) {
        isPassingOver = true;
        throw error;
      }
    },
    close: closePortals,
  };
}

const NO_SHAPE: StatementShape = { parameterTypeIds: [] };

function columnsOf(command: CommandAnswer | undefined) {
  return command?.value === undefined ? undefined : [shownColumn(command.value.name)];
}

function readFormats(reader: MessageReader): readonly number[] {
  return Array.from({ length: Math.max(0, reader.int16()) }, () => reader.int16());
}
