// @module-tag fast

import { expect, test } from 'vitest';
import { secondMoments } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { randomTokens } from './random-tokens.js';

const seed = Date.now() % 1_000_000;
console.log(`second moments: seed ${seed}`);

/** Upper triangle of the sum of outer products, by three loops. */
function byLoops(rows: Int8Array, dimension: number): number[] {
  const sums: number[] = [];
  for (let a = 0; a < dimension; a += 1) {
    for (let b = a; b < dimension; b += 1) {
      let sum = 0;
      for (let start = 0; start < rows.length; start += dimension) sum += rows[start + a] * rows[start + b];
      sums.push(sum);
    }
  }
  return sums;
}

test.each([1, 6, 32, 33, 64, 128, 256])(
  'second moments of %i components are sums of products',
  (dimension) => {
    const random = seededRandom(seed + dimension);
    for (const count of [0, 1, 7, 8, 9, 255, 256]) {
      const { values } = randomTokens(random, count, dimension);
      expect([...secondMoments(values, dimension)], `seed ${seed}, ${count} rows`).toEqual(
        byLoops(values, dimension),
      );
    }
  },
);

test('the largest second moments do not overflow', () => {
  const rows = new Int8Array(65_535 * 2).fill(-128);
  expect([...secondMoments(rows, 2)]).toEqual([65_535 * 16_384, 65_535 * 16_384, 65_535 * 16_384]);
});

test('incomplete rows, and too many rows, are refused', () => {
  expect(() => secondMoments(new Int8Array(7), 2)).toThrow('whole rows');
  expect(() => secondMoments(new Int8Array(65_536), 1)).toThrow('too many rows');
});
