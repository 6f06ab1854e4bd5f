import {
  DuckDBListValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import {
  Bool,
  Field,
  Float64,
  Int64,
  List,
  Schema,
  TimestampMicrosecond,
  Utf8,
  type DataType,
} from 'apache-arrow';
import { ARROW_STREAM_END, arrowBatchStart, arrowStreamStart, padded } from '../../release/arrow-bytes.js';
import { encodeColumn } from '../../release/column-encode.js';
import type { AttributeType, AttributeValue } from '../../release/release.js';

/** Encodes the rows of a result as an Arrow IPC stream, batch by batch. */
interface ArrowEncoder {
  /** Bytes before the first batch. */
  readonly start: Buffer;
  batch(rows: readonly (readonly DuckDBValue[])[]): Buffer;
  /** Bytes after the last batch. */
  readonly end: Buffer;
}

interface Column {
  readonly type: DataType;
  readonly encodeAs: AttributeType;
  readonly read: (value: DuckDBValue) => unknown;
}

const SMALL_INTEGERS = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
]);
/** Types that data frames store as floating point: decimals and sums of integers. */
const NUMBERS = new Set([
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.UBIGINT,
]);

/** Creates the encoder for these columns. A column of a type without an Arrow counterpart is encoded as text. */
export function createArrowEncoder(names: readonly string[], types: readonly DuckDBType[]): ArrowEncoder {
  const columns = types.map(columnOf);
  const schema = new Schema(columns.map(({ type }, index) => new Field(names[index], type, true)));
  return {
    start: arrowStreamStart(schema),
    batch(rows) {
      const encoded = columns.map(({ encodeAs, read }, index) =>
        encodeColumn(
          encodeAs,
          rows.map((row) => (row[index] === null ? undefined : (read(row[index]) as AttributeValue))),
        ),
      );
      const buffers = encoded.flatMap((column) => column.buffers);
      const { bytes } = arrowBatchStart({
        rows: rows.length,
        nodes: encoded.flatMap((column) => column.nodes),
        bufferBytes: buffers.map((buffer) => buffer.length),
      });
      const body = buffers.flatMap((buffer) => [buffer, Buffer.alloc(padded(buffer.length) - buffer.length)]);
      return Buffer.concat([bytes, ...body]);
    },
    end: ARROW_STREAM_END,
  };
}

function columnOf(type: DuckDBType): Column {
  const { typeId } = type;
  if (typeId === DuckDBTypeId.BOOLEAN)
    return { type: new Bool(), encodeAs: 'boolean', read: (value) => value };
  if (SMALL_INTEGERS.has(typeId)) return { type: new Int64(), encodeAs: 'integer', read: (value) => value };
  if (NUMBERS.has(typeId)) return { type: new Float64(), encodeAs: 'number', read: numberOf };
  if (typeId === DuckDBTypeId.TIMESTAMP || typeId === DuckDBTypeId.TIMESTAMP_TZ) {
    const zone = typeId === DuckDBTypeId.TIMESTAMP_TZ ? 'UTC' : undefined;
    return { type: new TimestampMicrosecond(zone), encodeAs: 'integer', read: microsOf };
  }
  if (isTextList(type)) {
    const items = new List(new Field('item', new Utf8(), true));
    return { type: items, encodeAs: 'string_list', read: (value) => (value as DuckDBListValue).items };
  }
  return { type: new Utf8(), encodeAs: 'string', read: String };
}

function numberOf(value: DuckDBValue): number {
  return typeof value === 'number' ? value : Number(String(value));
}

function microsOf(value: DuckDBValue): bigint {
  return (value as DuckDBTimestampValue | DuckDBTimestampTZValue).micros;
}

function isTextList(type: DuckDBType): boolean {
  return (
    type.typeId === DuckDBTypeId.LIST && 'valueType' in type && type.valueType.typeId === DuckDBTypeId.VARCHAR
  );
}
