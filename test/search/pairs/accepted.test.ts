// @module-tag fast

import { describe, expect, it } from 'vitest';
import { largestListed, logAcceptedShare } from '#src/search/pairs/accepted.js';

describe('logAcceptedShare', () => {
  it('is ln of accepted ÷ searched targets', () => {
    expect(logAcceptedShare(5, Math.log(20_000))).toBeCloseTo(Math.log(5 / 20_000), 12);
  });

  it('is at most 0 where more targets are accepted than a chosen database size counts', () => {
    expect(logAcceptedShare(50, Math.log(10))).toBe(0);
  });
});

describe('largestListed', () => {
  it('is the E-value whose conditional E-value is the cut-off', () => {
    expect(largestListed(0.001, Math.log(5 / 20_000), Math.log(20_000))).toBeCloseTo(4, 9);
  });

  it('is at most 10, or the cut-off where that is larger', () => {
    expect(largestListed(0.01, Math.log(5 / 20_000), Math.log(20_000))).toBe(10);
    expect(largestListed(20, Math.log(100 / 20_000), Math.log(20_000))).toBe(20);
  });

  it('is a hundredth of the number of targets in small databases, where fragments have small E-values', () => {
    expect(largestListed(0.01, Math.log(1 / 100), Math.log(30))).toBeCloseTo(0.3, 9);
    expect(largestListed(10, Math.log(1 / 30), Math.log(30))).toBe(10);
  });

  it('is the cut-off for a target that is not accepted', () => {
    expect(largestListed(0.01, 0, Math.log(20_000))).toBe(0.01);
  });
});
