import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { numericBytes, textArrayBytes } from './postgres-binary.js';
import { StatementFailure } from './failure.js';
import { POSTGRES, postgresText } from './values.js';

const DATA_ROW = 'D'.charCodeAt(0);
/** From 1970 to 2000, from where PostgreSQL counts: microseconds, and days. */
const EPOCH_MICROS = 946_684_800_000_000n;
const EPOCH_DAYS = 10_957;
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
  const writer = createRowWriter();
  for (const row of rows) {
    const start = writer.begin(encoders.length);
    for (const [index, encode] of encoders.entries()) {
      const value = row[index];
      if (value === null) writer.nothing();
      else writer.add(encode(value));
    }
    writer.end(start);
  }
  return writer.bytes();
}

const FIRST_BYTES = 64 * 1024;
const HEAD_BYTES = 7;
const LENGTH_BYTES = 4;

/** Messages in one buffer that grows, because a buffer for each value costs more than the value. */
function createRowWriter() {
  let buffer = Buffer.allocUnsafe(FIRST_BYTES);
  let at = 0;
  const ensure = (bytes: number): void => {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (at + bytes));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  };
  return {
    begin(columnCount: number): number {
      ensure(HEAD_BYTES);
      buffer[at] = DATA_ROW;
      buffer.writeInt16BE(columnCount, at + 5);
      at += HEAD_BYTES;
      return at - HEAD_BYTES;
    },
    nothing(): void {
      ensure(LENGTH_BYTES);
      at = buffer.writeInt32BE(NULL_LENGTH, at);
    },
    add(value: string | Buffer): void {
      const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
      ensure(LENGTH_BYTES + length);
      at = buffer.writeInt32BE(length, at);
      if (typeof value === 'string') buffer.write(value, at);
      else value.copy(buffer, at);
      at += length;
    },
    /** The length of a message counts itself, and not its type. */
    end: (start: number) => void buffer.writeInt32BE(at - start - 1, start + 1),
    bytes: () => buffer.subarray(0, at),
  };
}

type Encode = (value: DuckDBValue) => string | Buffer;

const textEncoder: Encode = postgresText;

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
    case POSTGRES.numeric:
      return (value) => numericBytes(String(value));
    case POSTGRES.textArray:
      return (value) => textArrayBytes((value as DuckDBListValue).items as readonly (string | null)[]);
    case POSTGRES.date:
      return written(4, (buffer, value) => buffer.writeInt32BE((value as DuckDBDateValue).days - EPOCH_DAYS));
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
