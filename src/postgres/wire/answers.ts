import { Writer } from 'pg-protocol/dist/buffer-writer.js';
import type { SqlColumn } from '../../sql/engine/messages.js';
import type { ProtocolFault } from './protocol-fault.js';

/* Messages to the client. Source  PostgreSQL, chapter "Message Formats" */

const code = (type: string): number => type.charCodeAt(0);
const empty = (type: string): Buffer => new Writer().flush(code(type));

const AUTHENTICATION_OK = 0;
const AUTHENTICATION_CLEARTEXT_PASSWORD = 3;
/** Of types whose size is not fixed, or not told. */
const UNKNOWN_SIZE = -1;

export type TransactionStatus = 'I' | 'T' | 'E';

export const PARSE_COMPLETE = empty('1');
export const BIND_COMPLETE = empty('2');
export const CLOSE_COMPLETE = empty('3');
export const NO_DATA = empty('n');
export const PORTAL_SUSPENDED = empty('s');
export const EMPTY_QUERY = empty('I');

export function authenticationOk(): Buffer {
  return new Writer().addInt32(AUTHENTICATION_OK).flush(code('R'));
}

export function askForPassword(): Buffer {
  return new Writer().addInt32(AUTHENTICATION_CLEARTEXT_PASSWORD).flush(code('R'));
}

export function parameterStatus(name: string, value: string): Buffer {
  return new Writer().addCString(name).addCString(value).flush(code('S'));
}

export function backendKey(processId: number, secret: number): Buffer {
  return new Writer().addInt32(processId).addInt32(secret).flush(code('K'));
}

export function readyForQuery(status: TransactionStatus): Buffer {
  return new Writer().addString(status).flush(code('Z'));
}

export function commandComplete(tag: string): Buffer {
  return new Writer().addCString(tag).flush(code('C'));
}

export function rowDescription(columns: readonly SqlColumn[], formats: readonly number[]): Buffer {
  const writer = new Writer().addInt16(columns.length);
  for (const [index, { name, postgresTypeId }] of columns.entries()) {
    const format = (formats.length > 1 ? formats[index] : formats[0]) ?? 0;
    writer
      .addCString(name)
      .addInt32(0)
      .addInt16(0)
      .addInt32(postgresTypeId)
      .addInt16(UNKNOWN_SIZE)
      .addInt32(UNKNOWN_SIZE)
      .addInt16(format);
  }
  return writer.flush(code('T'));
}

export function parameterDescription(typeIds: readonly number[]): Buffer {
  const writer = new Writer().addInt16(typeIds.length);
  for (const typeId of typeIds) writer.addInt32(typeId);
  return writer.flush(code('t'));
}

/** A row of texts. */
export function dataRow(values: readonly string[]): Buffer {
  const writer = new Writer().addInt16(values.length);
  for (const value of values) writer.addInt32(Buffer.byteLength(value)).addString(value);
  return writer.flush(code('D'));
}

export function errorResponse({ sqlState, message, isFatal }: ProtocolFault): Buffer {
  const severity = isFatal ? 'FATAL' : 'ERROR';
  const fields = { S: severity, V: severity, C: sqlState, M: message };
  const writer = new Writer();
  for (const [field, value] of Object.entries(fields)) writer.addString(field).addCString(value);
  return writer.addCString('').flush(code('E'));
}
