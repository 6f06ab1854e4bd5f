// @module-tag fast

import { expect, test } from 'vitest';
import {
  countCysteines,
  cysteineExcess,
  pairCysteines,
  type CysteineCount,
} from '#src/significance/cysteines.js';

const USUAL_SHARE = 0.04;
const excessOf = (a: CysteineCount, b: CysteineCount): number =>
  cysteineExcess(pairCysteines(a, b), USUAL_SHARE);

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
  const excess = excessOf(defensin, knottin);
  expect(excess).toBeCloseTo((6 * odds) / (36 * 31) ** 0.25, 12);
  expect(excessOf(knottin, defensin)).toBe(excess);
});

test('pairs with a usual number of cysteines, or with one protein that has none, have no excess', () => {
  const rich = { length: 40, cysteines: 10 };
  expect(excessOf({ length: 300, cysteines: 4 }, { length: 250, cysteines: 3 })).toBe(0);
  expect(excessOf({ length: 100, cysteines: 0 }, rich)).toBe(0);
  // The geometric mean of shares of .25 and .0064 is .04, so that the excess begins here.
  expect(excessOf({ length: 1_000, cysteines: 6 }, rich)).toBe(0);
  expect(excessOf({ length: 1_000, cysteines: 7 }, rich)).toBeGreaterThan(0);
});

test('a lower usual share gives pairs an excess that have none by a higher one', () => {
  const cellulase = { length: 434, cysteines: 20 };
  const neuraminidase = { length: 364, cysteines: 14 };
  const pair = pairCysteines(cellulase, neuraminidase);
  const gain = 2 * 14 * Math.log(2) * (434 * 364) ** -0.25;
  expect(cysteineExcess(pair, 0.02) - cysteineExcess(pair, 0.04)).toBeCloseTo(gain, 12);
  const usual = pairCysteines({ length: 400, cysteines: 12 }, { length: 400, cysteines: 12 });
  expect(cysteineExcess(usual, 0.04)).toBe(0);
  expect(cysteineExcess(usual, 0.02)).toBeCloseTo((12 * 2 * Math.log(1.5)) / 20, 12);
});
