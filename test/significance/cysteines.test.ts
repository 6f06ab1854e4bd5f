// @module-tag fast

import { expect, test } from 'vitest';
import { countCysteines, cysteineExcess } from '#src/significance/cysteines.js';

test.each([
  { sequence: '', count: 0 },
  { sequence: 'MKVLA', count: 0 },
  { sequence: 'CCMC', count: 3 },
  { sequence: 'GCSCNC', count: 3 },
])('$sequence has $count cysteines', ({ sequence, count }) => {
  expect(countCysteines(sequence)).toEqual({ length: sequence.length, cysteines: count });
});

test('two proteins with more cysteines than usual have the log odds of the smaller number', () => {
  const defensin = { length: 36, cysteines: 6 };
  const knottin = { length: 31, cysteines: 8 };
  const odds = Math.log((6 / 36 / 0.04) * (8 / 31 / 0.04));
  const excess = cysteineExcess(defensin, knottin);
  expect(excess).toBeCloseTo((6 * odds) / (36 * 31) ** 0.25, 12);
  expect(cysteineExcess(knottin, defensin)).toBe(excess);
});

test('pairs with a usual number of cysteines, or with one protein that has none, have no excess', () => {
  const rich = { length: 40, cysteines: 10 };
  expect(cysteineExcess({ length: 300, cysteines: 4 }, { length: 250, cysteines: 3 })).toBe(0);
  expect(cysteineExcess({ length: 100, cysteines: 0 }, rich)).toBe(0);
  // The geometric mean of shares of .25 and .0064 is .04, so that the excess begins here.
  expect(cysteineExcess({ length: 1_000, cysteines: 6 }, rich)).toBe(0);
  expect(cysteineExcess({ length: 1_000, cysteines: 7 }, rich)).toBeGreaterThan(0);
});
