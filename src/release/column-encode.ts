import type { AttributeType, AttributeValue } from './release.js';

/** One column of a record batch as Arrow lays it out: its nodes and buffers in depth-first order. */
export interface EncodedColumn {
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  readonly buffers: readonly Uint8Array[];
}

type Values<Value> = readonly (Value | undefined)[];

const NO_BUFFER = new Uint8Array(0);

/**
 * Values of one field as an Arrow column; undefined is null.
 * Range   at most 2³¹ bytes of text, because offsets are int32
 */
export function encodeColumn(type: AttributeType, values: Values<AttributeValue>): EncodedColumn {
  switch (type) {
    case 'string':
      return encodeStrings(values as Values<string>);
    case 'integer':
      return encodeNumbers(
        BigInt64Array.from(values as Values<number>, (value) => BigInt(value ?? 0)),
        values,
      );
    case 'number':
      return encodeNumbers(
        Float64Array.from(values as Values<number>, (value) => value ?? 0),
        values,
      );
    case 'boolean':
      return { nodes: [node(values)], buffers: [validity(values), bits(values, (value) => value === true)] };
    case 'string_list':
      return encodeStringLists(values as Values<readonly string[]>);
  }
}

export function encodeInt32(values: readonly number[]): EncodedColumn {
  return encodeNumbers(Int32Array.from(values), values);
}

/** Values of a typed array as an Arrow column of the same type; none is null. */
export function encodeDense(numbers: ArrayBufferView & { readonly length: number }): EncodedColumn {
  return { nodes: [{ length: numbers.length, nullCount: 0 }], buffers: [NO_BUFFER, bytesOf(numbers)] };
}

export function encodeStrings(values: Values<string>): EncodedColumn {
  const offsets = new Int32Array(values.length + 1);
  let bytes = 0;
  values.forEach((value, row) => {
    bytes += value === undefined ? 0 : Buffer.byteLength(value);
    offsets[row + 1] = bytes;
  });
  const text = Buffer.alloc(bytes);
  values.forEach((value, row) => {
    if (value !== undefined) text.write(value, offsets[row]);
  });
  return { nodes: [node(values)], buffers: [validity(values), bytesOf(offsets), text] };
}

function encodeStringLists(values: Values<readonly string[]>): EncodedColumn {
  const offsets = new Int32Array(values.length + 1);
  const items: string[] = [];
  values.forEach((list, row) => {
    for (const item of list ?? []) items.push(item);
    offsets[row + 1] = items.length;
  });
  const child = encodeStrings(items);
  return {
    nodes: [node(values), ...child.nodes],
    buffers: [validity(values), bytesOf(offsets), ...child.buffers],
  };
}

function encodeNumbers(numbers: ArrayBufferView, values: Values<unknown>): EncodedColumn {
  return { nodes: [node(values)], buffers: [validity(values), bytesOf(numbers)] };
}

function node(values: Values<unknown>): { length: number; nullCount: number } {
  return { length: values.length, nullCount: values.filter((value) => value === undefined).length };
}

/** Arrow leaves the bitmap out where nothing is null. */
function validity(values: Values<unknown>): Uint8Array {
  return values.includes(undefined) ? bits(values, (value) => value !== undefined) : NO_BUFFER;
}

function bits<Value>(values: readonly Value[], isSet: (value: Value) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(values.length / 8));
  values.forEach((value, row) => {
    if (isSet(value)) bitmap[row >> 3] |= 1 << (row & 7);
  });
  return bitmap;
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
