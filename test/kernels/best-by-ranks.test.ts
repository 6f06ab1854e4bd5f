// @module-tag fast

import { expect, test } from 'vitest';
import { bestByRanks } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';

const seed = Date.now() % 1_000_000;
console.log(`best by ranks: seed ${seed}`);

/** The same, with each rank counted by a loop. */
function byLoops(columns: readonly (readonly number[])[], most: number): readonly number[] {
  const places = columns[0].map((_, place) => place);
  const productOf = (place: number): number =>
    columns.reduce((product, values) => product * values.filter((one) => one >= values[place]).length, 1);
  return places.toSorted((a, b) => productOf(a) - productOf(b) || a - b).slice(0, most);
}

test.each([1, 2, 3])('places are those of the least products of ranks in %i orders', (orders) => {
  const random = seededRandom(seed + orders);
  for (const items of [0, 1, 2, 50, 200]) {
    // Few different values, so that many are equal; some are no whole numbers.
    const columns = Array.from({ length: orders }, () =>
      Array.from({ length: items }, () => (random.below(60) - 30) / 4),
    );
    for (const most of [0, 1, 20, items, items + 5]) {
      const found = bestByRanks(Float64Array.from(columns.flat()), orders, most);
      expect([...found], `seed ${seed}, ${items} items`).toEqual(byLoops(columns, most));
    }
  }
});

test('a value that is no number, and orders of unequal length, are refused', () => {
  expect(() => bestByRanks(Float64Array.of(1, Number.NaN), 1, 2)).toThrow('no rank');
  expect(() => bestByRanks(new Float64Array(3), 2, 1)).toThrow('all values');
  expect(() => bestByRanks(new Float64Array(3), 0, 1)).toThrow('all values');
});
