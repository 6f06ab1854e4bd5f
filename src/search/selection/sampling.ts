import type { QueryTokens } from '../../kernels/kernels.js';

/** Rows of a query that sweep all targets, and rows that sweep the prefilter hits; multiples of a kernel's tile. */
export const COARSE_ROWS = 32;
export const FINE_ROWS = 64;
/** Rows of a query in the look-up table of centroids. */
export const TABLE_ROWS = 128;

/**
 * Selects at most `most` rows of a query, evenly spread. The rows depend on the length only, so that equal searches
 * give equal results. A query with fewer residues keeps all of them.
 * Shape   min(length, most) elements
 * Unit    row indices
 * Range   ascending, 0..length − 1
 */
export function sampledRows(length: number, most: number): Uint32Array {
  const count = Math.min(length, most);
  // Each row is the middle of its share of the query.
  return Uint32Array.from({ length: count }, (_, row) => Math.floor(((2 * row + 1) * length) / (2 * count)));
}

/** Returns a query with its sampled rows only. */
export function sampleTokens({ values, length }: QueryTokens, most: number): QueryTokens {
  const dimension = values.length / length;
  const rows = sampledRows(length, most);
  const sampled = new Int8Array(rows.length * dimension);
  rows.forEach((row, at) => {
    sampled.set(values.subarray(row * dimension, (row + 1) * dimension), at * dimension);
  });
  return { values: sampled, length: rows.length };
}
