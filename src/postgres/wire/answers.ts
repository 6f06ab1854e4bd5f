import type { SqlColumn } from '../../sql/engine/messages.js';
import { int16, int32, message, text } from './message-writer.js';
import type { ProtocolFault } from './protocol-fault.js';

/* Messages to the client. Source  PostgreSQL, chapter "Message Formats" */

const AUTHENTICATION_OK = 0;
const AUTHENTICATION_CLEARTEXT_PASSWORD = 3;
/** Size of a type of variable or unknown size. */
const UNKNOWN_SIZE = -1;

export type TransactionStatus = 'I' | 'T' | 'E';

export const PARSE_COMPLETE = message('1');
export const BIND_COMPLETE = message('2');
export const CLOSE_COMPLETE = message('3');
export const NO_DATA = message('n');
export const PORTAL_SUSPENDED = message('s');
export const EMPTY_QUERY = message('I');

export function authenticationOk(): Buffer {
  return message('R', int32(AUTHENTICATION_OK));
}

export function askForPassword(): Buffer {
  return message('R', int32(AUTHENTICATION_CLEARTEXT_PASSWORD));
}

export function parameterStatus(name: string, value: string): Buffer {
  return message('S', text(name), text(value));
}

export function backendKey(processId: number, secret: number): Buffer {
  return message('K', int32(processId), int32(secret));
}

export function readyForQuery(status: TransactionStatus): Buffer {
  return message('Z', Buffer.from(status));
}

export function commandComplete(tag: string): Buffer {
  return message('C', text(tag));
}

export function rowDescription(columns: readonly SqlColumn[], formats: readonly number[]): Buffer {
  const fields = columns.flatMap(({ name, postgresTypeId }, index) => [
    text(name),
    int32(0),
    int16(0),
    int32(postgresTypeId),
    int16(UNKNOWN_SIZE),
    int32(UNKNOWN_SIZE),
    int16((formats.length > 1 ? formats[index] : formats[0]) ?? 0),
  ]);
  return message('T', int16(columns.length), ...fields);
}

export function parameterDescription(typeIds: readonly number[]): Buffer {
  return message('t', int16(typeIds.length), ...typeIds.map(int32));
}

/** A row of text values. */
export function dataRow(values: readonly string[]): Buffer {
  const fields = values.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)]);
  return message('D', int16(values.length), ...fields);
}

export function errorResponse({ sqlState, message: reason, isFatal }: ProtocolFault): Buffer {
  const severity = isFatal ? 'FATAL' : 'ERROR';
  const fields = { S: severity, V: severity, C: sqlState, M: reason };
  const pairs = Object.entries(fields).map(([field, value]) => text(field + value));
  return message('E', ...pairs, text(''));
}
