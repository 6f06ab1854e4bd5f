// @module-tag fast

import { describe, expect, it } from 'vitest';
import { eValueAmong } from '#src/search/pairs/candidate-significance.js';

describe('an E-value', () => {
  it('of a pair that every unrelated pair reaches is the number of counted targets', () => {
    expect(Math.exp(Math.log(900))).toBeGreaterThan(900);
    expect(eValueAmong({ count: 900 }, Math.log(900))).toBe(900);
  });

  it('never exceeds the number of counted targets', () => {
    for (let count = 1; count <= 10_000; count += 1)
      expect(eValueAmong({ count }, Math.log(count))).toBeLessThanOrEqual(count);
  });

  it('below that is the exponential of its logarithm', () => {
    expect(eValueAmong({ count: 900 }, -12.5)).toBe(Math.exp(-12.5));
  });
});
