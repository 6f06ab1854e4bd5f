// @module-tag fast

import { describe, expect, it } from 'vitest';
import { CHANCE_COORDINATE, controlledCoordinate, reversed } from '#src/significance/control.js';

describe('the reversed-query control of a pair', () => {
  it('changes nothing if the control scores no more than chance', () => {
    for (const control of [-9, 0, CHANCE_COORDINATE]) expect(controlledCoordinate(40, control)).toBe(40);
  });

  it('subtracts the excess of the control over chance, but never goes below the coordinate of an ordinary pair', () => {
    expect(controlledCoordinate(40, CHANCE_COORDINATE + 10)).toBe(30);
    expect(controlledCoordinate(12, 50)).toBe(0);
  });

  it('preserves the order of pairs with equal controls', () => {
    const control = CHANCE_COORDINATE + 3;
    expect(controlledCoordinate(20, control)).toBeGreaterThan(controlledCoordinate(19, control));
  });

  it('is made from the reversed sequence', () => {
    expect(reversed('MKVL')).toBe('LVKM');
    expect(reversed('')).toBe('');
  });
});
