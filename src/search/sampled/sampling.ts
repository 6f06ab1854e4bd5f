import type { QueryTokens } from '../../kernels/kernels.js';

/** Rows of a query that the sampled sweep compares; a multiple of what kernels compare at once, so that none idle. */
const SAMPLED_ROWS = 32;

/**
 * The rows of a query that the sampled sweep compares, ascending and evenly spread: a pure function of the query's
 * length, so that equal searches stay equal. Of a query with no more residues it is all of them.
 */
export function sampledRows(length: number): Uint32Array {
  const count = Math.min(length, SAMPLED_ROWS);
  // Each row stands in the middle of its share of the query.
  return Uint32Array.from({ length: count }, (_, row) => Math.floor(((2 * row + 1) * length) / (2 * count)));
}

/** A query of its sampled rows only. */
export function sampleTokens({ values, length }: QueryTokens): QueryTokens {
  const dimension = values.length / length;
  const rows = sampledRows(length);
  const sampled = new Int8Array(rows.length * dimension);
  rows.forEach((row, at) => {
    sampled.set(values.subarray(row * dimension, (row + 1) * dimension), at * dimension);
  });
  return { values: sampled, length: rows.length };
}
