// @module-tag fast

import { expect, test } from 'vitest';
import { repeatExcess, type RepeatModel } from '#src/significance/repeats.js';

const MODEL: RepeatModel = { weight: 50, usualShare: 0.01, largestShare: 0.04 };

test.each([
  { one: 0.03, other: 0.02, expected: 50 * 0.01, why: 'the smaller share counts' },
  { one: 0.02, other: 0.03, expected: 50 * 0.01, why: 'the order does not matter' },
  { one: 0.2, other: 0.01, expected: 0, why: 'a usual share has no excess' },
  { one: 0.2, other: 0, expected: 0, why: 'a protein without repeats has no excess' },
  { one: 0.04, other: 0.06, expected: 50 * 0.03, why: 'the largest share has the largest excess' },
  { one: 0.1, other: 0.2, expected: 50 * 0.03, why: 'more repeats than that change nothing' },
])('repeat shares of $one and $other: $why', ({ one, other, expected }) => {
  expect(repeatExcess(MODEL, one, other)).toBeCloseTo(expected, 12);
});

test('without a model repeats change nothing', () => {
  expect(repeatExcess(undefined, 0.1, 0.1)).toBe(0);
});
