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
/** Offset from the Unix epoch to PostgreSQL's epoch, 2000-01-01. Unit  microseconds, and days */
const EPOCH_MICROS = 946_684_800_000_000n;
const EPOCH_DAYS = 10_957;
const NULL_LENGTH = -1;

/**
 * Encodes rows as DataRow messages of the PostgreSQL protocol.
 * Errors  StatementFailure `invalid` for a type without a binary encoder
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
  const writer = new RowWriter();
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

/** Writes messages into one growing buffer. A buffer for each value would cost more than the value. */
class RowWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  /** Begins a message and returns its position for `end`. */
  begin(columnCount: number): number {
    this.#ensure(HEAD_BYTES);
    this.#buffer[this.#at] = DATA_ROW;
    this.#buffer.writeInt16BE(columnCount, this.#at + 5);
    this.#at += HEAD_BYTES;
    return this.#at - HEAD_BYTES;
  }

  nothing(): void {
    this.#ensure(LENGTH_BYTES);
    this.#at = this.#buffer.writeInt32BE(NULL_LENGTH, this.#at);
  }

  add(value: string | Buffer): void {
    const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    this.#ensure(LENGTH_BYTES + length);
    this.#at = this.#buffer.writeInt32BE(length, this.#at);
    if (typeof value === 'string') this.#buffer.write(value, this.#at);
    else value.copy(this.#buffer, this.#at);
    this.#at += length;
  }

  /** The length of a message includes itself and excludes the type byte. */
  end(start: number): void {
    this.#buffer.writeInt32BE(this.#at - start - 1, start + 1);
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  #ensure(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
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
        'A column has a type without a binary format; cast it to VARCHAR or DOUBLE, or request text.',
      );
  }
}

function microsOf(value: DuckDBValue): bigint {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return value.micros;
  throw new StatementFailure('invalid', 'The unit of a timestamp is not microseconds; cast it to TIMESTAMP.');
}
