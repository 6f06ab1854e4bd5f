// @module-tag fast

import { describe, expect, it } from 'vitest';
import { CHANCE_COORDINATE, controlledCoordinate, reversed } from '#src/significance/control.js';

describe('the control of a striking pair', () => {
  it('changes nothing where chance explains what it scores', () => {
    for (const control of [-9, 0, CHANCE_COORDINATE]) expect(controlledCoordinate(40, control)).toBe(40);
  });

  it('takes away what it scores beyond chance, and no more than leaves an everyday pair', () => {
    expect(controlledCoordinate(40, CHANCE_COORDINATE + 10)).toBe(30);
    expect(controlledCoordinate(12, 50)).toBe(0);
  });

  it('keeps pairs in order that it takes the same from', () => {
    const control = CHANCE_COORDINATE + 3;
    expect(controlledCoordinate(20, control)).toBeGreaterThan(controlledCoordinate(19, control));
  });

  it('reads a sequence backwards', () => {
    expect(reversed('MKVL')).toBe('LVKM');
    expect(reversed('')).toBe('');
  });
});
