import type { QueryTokens } from '../kernels/kernels.js';

/** Rows of a query that meet every target, and those that meet the pool; multiples of what kernels compare at once. */
export const COARSE_ROWS = 32;
export const FINE_ROWS = 64;
/** Rows of a query that make its table of what codes are worth. */
export const TABLE_ROWS = 128;

/**
 * So many rows of a query, ascending and evenly spread: a pure function of its length, so that equal searches stay
 * equal. Of a query with no more residues it is all of them.
 */
export function sampledRows(length: number, most: number): Uint32Array {
  const count = Math.min(length, most);
  // Each row stands in the middle of its share of the query.
  return Uint32Array.from({ length: count }, (_, row) => Math.floor(((2 * row + 1) * length) / (2 * count)));
}

/** A query of its sampled rows only. */
export function sampleTokens({ values, length }: QueryTokens, most: number): QueryTokens {
  const dimension = values.length / length;
  const rows = sampledRows(length, most);
  const sampled = new Int8Array(rows.length * dimension);
  rows.forEach((row, at) => {
    sampled.set(values.subarray(row * dimension, (row + 1) * dimension), at * dimension);
  });
  return { values: sampled, length: rows.length };
}
