import {
  DuckDBBlobValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { StatementFailure } from './engine-failure.js';
import { POSTGRES, postgresText } from './engine-values.js';

const DATA_ROW = 'D'.charCodeAt(0);
/** Microseconds from 1970 to 2000, from where PostgreSQL counts. */
const EPOCH_MICROS = 946_684_800_000_000n;
const NULL_LENGTH = -1;

/**
 * Rows as DataRow messages of the PostgreSQL protocol.
 * Errors  StatementFailure `invalid` for a type whose binary form is not written here
 */
export function encodeDataRows(
  rows: readonly (readonly DuckDBValue[])[],
  typeIds: readonly number[],
  formats: readonly number[],
): Buffer {
  const encoders = typeIds.map((typeId, index) => {
    const format = formats.length > 1 ? formats[index] : formats[0];
    return format === 1 ? binaryEncoder(typeId) : textEncoder;
  });
  const pieces: Buffer[] = [];
  for (const row of rows) {
    const head = Buffer.alloc(7);
    const place = pieces.push(head) - 1;
    for (const [index, encode] of encoders.entries()) {
      const value = row[index];
      const bytes = value === null ? undefined : encode(value);
      const length = Buffer.alloc(4);
      length.writeInt32BE(bytes?.length ?? NULL_LENGTH);
      pieces.push(length);
      if (bytes !== undefined) pieces.push(bytes);
    }
    let size = 6;
    for (let each = place + 1; each < pieces.length; each += 1) size += pieces[each].length;
    head[0] = DATA_ROW;
    head.writeInt32BE(size, 1);
    head.writeInt16BE(encoders.length, 5);
  }
  return Buffer.concat(pieces);
}

type Encode = (value: DuckDBValue) => Buffer;

const textEncoder: Encode = (value) => Buffer.from(postgresText(value), 'utf8');

/** Source  the `send` functions of PostgreSQL's types */
function binaryEncoder(typeId: number): Encode {
  const written = (bytes: number, write: (buffer: Buffer, value: DuckDBValue) => void): Encode => {
    return (value) => {
      const buffer = Buffer.alloc(bytes);
      write(buffer, value);
      return buffer;
    };
  };
  switch (typeId) {
    case POSTGRES.bool:
      return written(1, (buffer, value) => buffer.writeInt8(value === true ? 1 : 0));
    case POSTGRES.int2:
      return written(2, (buffer, value) => buffer.writeInt16BE(Number(value)));
    case POSTGRES.int4:
      return written(4, (buffer, value) => buffer.writeInt32BE(Number(value)));
    case POSTGRES.int8:
      return written(8, (buffer, value) => buffer.writeBigInt64BE(BigInt(value as bigint)));
    case POSTGRES.float4:
      return written(4, (buffer, value) => buffer.writeFloatBE(value as number));
    case POSTGRES.float8:
      return written(8, (buffer, value) => buffer.writeDoubleBE(value as number));
    case POSTGRES.timestamptz:
    case POSTGRES.timestamp:
      return written(8, (buffer, value) => buffer.writeBigInt64BE(microsOf(value) - EPOCH_MICROS));
    case POSTGRES.text:
    case POSTGRES.json:
      return textEncoder;
    case POSTGRES.bytea:
      return (value) => Buffer.from((value as DuckDBBlobValue).bytes);
    default:
      throw new StatementFailure(
        'invalid',
        'A column has a type that is given as text only; cast it to VARCHAR or DOUBLE, or ask for text.',
      );
  }
}

function microsOf(value: DuckDBValue): bigint {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return value.micros;
  throw new StatementFailure(
    'invalid',
    'A timestamp has another unit than microseconds; cast it to TIMESTAMP.',
  );
}
