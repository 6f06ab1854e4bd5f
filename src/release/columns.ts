import type { Data, DataType, Utf8 } from 'apache-arrow';
import { Fault } from '../errors.js';
import { BATCH_ROWS, BATCH_ROWS_LOG2 } from './format.js';
import type { AttributeType, AttributeValue } from './release.js';

/*
 * Columns of a release's tables, read in place from the bodies of their record batches: no value is copied
 * before it is asked for, and a row costs what Arrow's buffers cost. Row r stands in batch r >> 12 at place
 * r & 4095 (format.ts).
 */

/** A value by row; undefined where it is missing. */
export type Column<Value> = (row: number) => Value | undefined;

/** A column that misses no value. */
export type DenseColumn<Value> = (row: number) => Value;

const PLACE_MASK = BATCH_ROWS - 1;

/** The column of one attribute field. */
export function attributeColumnOf(type: AttributeType, batches: readonly Data[]): Column<AttributeValue> {
  const value = denseAttribute(type, batches);
  const validity = batches.map((batch) => (batch.nullCount === 0 ? undefined : batch.nullBitmap));
  return (row) => {
    const bitmap = validity[row >> BATCH_ROWS_LOG2];
    return bitmap !== undefined && !isSet(bitmap, row & PLACE_MASK) ? undefined : value(row);
  };
}

export function float64Column(batches: readonly Data[]): DenseColumn<number> {
  const values = batches.map((batch) => batch.values as Float64Array);
  return (row) => values[row >> BATCH_ROWS_LOG2][row & PLACE_MASK];
}

export function int32Column(batches: readonly Data[]): DenseColumn<number> {
  const values = batches.map((batch) => batch.values as Int32Array);
  return (row) => values[row >> BATCH_ROWS_LOG2][row & PLACE_MASK];
}

/** Text; `latin1` is several times faster than `utf8` where it is known to be ASCII. */
export function textColumn(batches: readonly Data[], encoding: 'utf8' | 'latin1'): DenseColumn<string> {
  const parts = batches.map(textPart);
  return (row) => {
    const { bytes, offsets } = parts[row >> BATCH_ROWS_LOG2];
    const place = row & PLACE_MASK;
    return bytes.toString(encoding, offsets[place], offsets[place + 1]);
  };
}

interface TextPart {
  readonly bytes: Buffer;
  readonly offsets: Int32Array;
}

function textPart(data: Data): TextPart {
  const { length, values, valueOffsets } = data as Data<Utf8>;
  checkOffsets(valueOffsets, length, values.byteLength);
  return { bytes: Buffer.from(values.buffer, values.byteOffset, values.byteLength), offsets: valueOffsets };
}

/**
 * What lies beyond a damaged column's bytes must not be read as a text of gigabytes.
 * Errors  Fault where a value does not lie behind the one before it, within the end
 */
function checkOffsets(offsets: Int32Array, count: number, end: number): void {
  let isInOrder = offsets.length > count && offsets[0] >= 0 && offsets[count] <= end;
  for (let row = 0; row < count && isInOrder; row += 1) isInOrder = offsets[row] <= offsets[row + 1];
  if (!isInOrder) {
    throw new Fault(
      'Values of a column of the release overlap or lie outside of it; gloaming index verify says which bytes changed.',
    );
  }
}

function denseAttribute(type: AttributeType, batches: readonly Data[]): DenseColumn<AttributeValue> {
  switch (type) {
    case 'string':
      return textColumn(batches, 'utf8');
    case 'integer': {
      const values = batches.map((batch) => batch.values as BigInt64Array);
      // The build refuses integers beyond 2⁵³, so that none is rounded here.
      return (row) => Number(values[row >> BATCH_ROWS_LOG2][row & PLACE_MASK]);
    }
    case 'number':
      return float64Column(batches);
    case 'boolean': {
      const values = batches.map((batch) => batch.values as Uint8Array);
      return (row) => isSet(values[row >> BATCH_ROWS_LOG2], row & PLACE_MASK);
    }
    case 'string_list':
      return textListColumn(batches);
  }
}

function textListColumn(batches: readonly Data[]): DenseColumn<readonly string[]> {
  const parts = batches.map((batch) => {
    const [lists, texts] = [batch.valueOffsets as Int32Array, batch.children[0] as Data<DataType>];
    checkOffsets(lists, batch.length, texts.length);
    return { lists, items: textPart(texts) };
  });
  return (row) => {
    const { lists, items } = parts[row >> BATCH_ROWS_LOG2];
    const place = row & PLACE_MASK;
    const start = lists[place];
    return Array.from({ length: lists[place + 1] - start }, (_, index) =>
      items.bytes.toString('utf8', items.offsets[start + index], items.offsets[start + index + 1]),
    );
  };
}

function isSet(bitmap: Uint8Array, place: number): boolean {
  return ((bitmap[place >> 3] >> (place & 7)) & 1) === 1;
}
