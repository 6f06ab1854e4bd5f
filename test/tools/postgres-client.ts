import { connect, type Socket } from 'node:net';

/** A message of the server: its type and its body. */
export interface ServerMessage {
  readonly type: string;
  readonly body: Buffer;
}

/** The PostgreSQL protocol without a library, so that a test can send invalid messages. */
export interface PostgresClient {
  readonly socket: Socket;
  readonly send: (...messages: readonly Buffer[]) => void;
  /** Messages up to the next one of this type, or to the end of the connection. */
  readonly until: (type: string) => Promise<readonly ServerMessage[]>;
  /** Resolves when the server has closed, with its remaining messages. */
  readonly closed: () => Promise<readonly ServerMessage[]>;
  readonly end: () => void;
}

export function openPostgres(port: number): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(clientOf(socket)));
    socket.once('error', reject);
  });
}

/** Logged in, the first ReadyForQuery read. */
export async function logInPostgres(
  port: number,
  { user, password }: { readonly user: string; readonly password: string },
): Promise<PostgresClient & { readonly greeting: readonly ServerMessage[] }> {
  const client = await openPostgres(port);
  client.send(startup({ user, database: 'gloaming' }), message('p', text(password)));
  return { ...client, greeting: await client.until('Z') };
}

export function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

export function startup(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [text(name), text(value)]);
  const body = Buffer.concat([int32(196_608), ...pairs, Buffer.from([0])]);
  return Buffer.concat([int32(body.length + 4), body]);
}

export const text = (value: string): Buffer => Buffer.from(`${value}\0`);
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export const parse = (name: string, sql: string, types: readonly number[] = []): Buffer =>
  message('P', text(name), text(sql), int16(types.length), ...types.map(int32));
export function bind(
  portal: string,
  statement: string,
  values: readonly (string | Buffer | null)[] = [],
  formats: { readonly parameters?: readonly number[]; readonly results?: readonly number[] } = {},
): Buffer {
  const { parameters = [], results = [] } = formats;
  const encoded = values.flatMap((value) => {
    if (value === null) return [int32(-1)];
    const bytes = Buffer.from(value as string);
    return [int32(bytes.length), bytes];
  });
  return message(
    'B',
    text(portal),
    text(statement),
    int16(parameters.length),
    ...parameters.map(int16),
    int16(values.length),
    ...encoded,
    int16(results.length),
    ...results.map(int16),
  );
}
export const describeStatement = (name: string): Buffer => message('D', Buffer.from('S'), text(name));
export const describePortal = (name: string): Buffer => message('D', Buffer.from('P'), text(name));
export const execute = (portal: string, rows = 0): Buffer => message('E', text(portal), int32(rows));
export const SYNC = message('S');
export const query = (sql: string): Buffer => message('Q', text(sql));

/** Types of the messages, as one word. */
export const typesOf = (messages: readonly ServerMessage[]): string =>
  messages.map(({ type }) => type).join('');

/** Values of the rows, as text. */
export function rowsOf(messages: readonly ServerMessage[]): readonly (readonly (string | null)[])[] {
  return messages
    .filter(({ type }) => type === 'D')
    .map(({ body }) => rawRow(body).map((value) => value && String(value)));
}

export function rawRow(body: Buffer): readonly (Buffer | null)[] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const length = body.readInt32BE(at);
    at += 4 + Math.max(0, length);
    return length === -1 ? null : body.subarray(at - length, at);
  });
}

/** SQLSTATE and message of the first error. */
export function errorOf(messages: readonly ServerMessage[]): {
  readonly code: string;
  readonly message: string;
} {
  const body = messages.find(({ type }) => type === 'E')?.body.toString() ?? '';
  const fields = new Map(body.split('\0').map((field) => [field[0], field.slice(1)]));
  return { code: fields.get('C') ?? '', message: fields.get('M') ?? '' };
}

function clientOf(socket: Socket): PostgresClient {
  const messages: ServerMessage[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  let isClosed = false;
  let wake: (() => void) | undefined;
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5 && bytes.length > bytes.readInt32BE(1)) {
      const end = 1 + bytes.readInt32BE(1);
      messages.push({ type: String.fromCharCode(bytes[0] as number), body: bytes.subarray(5, end) });
      bytes = bytes.subarray(end);
    }
    wake?.();
  });
  socket.on('close', () => {
    isClosed = true;
    wake?.();
  });
  const until = async (type: string | undefined): Promise<readonly ServerMessage[]> => {
    for (;;) {
      const index = messages.findIndex((each) => each.type === type);
      if (index !== -1) return messages.splice(0, index + 1);
      if (isClosed) return messages.splice(0);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return {
    socket,
    send: (...sent) => void socket.write(Buffer.concat(sent)),
    until,
    closed: () => until(undefined),
    end: () => void socket.destroy(),
  };
}
