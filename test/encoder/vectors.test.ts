// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Fault } from '#src/errors.js';
import { fadeVectors, unitVectors } from '#src/encoder/vectors.js';
import { quantise } from '#src/kernels/quantise.js';

describe('unit vectors', () => {
  it('have length 1 and the direction of the features', () => {
    expect([...unitVectors(Float32Array.of(3, 4, 0, -5), 2, 2, undefined)]).toEqual(
      [0.6, 0.8, 0, -1].map(Math.fround),
    );
  });

  it('are the projected features where the encoder has a projection', () => {
    const matrix = Float32Array.of(1, 0, 0, 2, 1, 0);
    expect([...unitVectors(Float32Array.of(1, 1, 1), 3, 2, matrix)]).toEqual(
      [2 / Math.sqrt(8), 2 / Math.sqrt(8)].map(Math.fround),
    );
  });

  it('of zeros stay zeros', () => {
    expect([...unitVectors(new Float32Array(4), 2, 2, undefined)]).toEqual([0, 0, 0, 0]);
  });

  it('are refused where a feature is not finite, naming the residue', () => {
    const rows = Float32Array.of(1, 0, Number.NaN, 1);
    expect(() => unitVectors(rows, 2, 2, undefined)).toThrow(
      new Fault("The model's vector of residue 2 is not finite."),
    );
  });
});

describe('fading from one window to the next', () => {
  it('gives the second a share that grows evenly from row to row, in rows of length 1', () => {
    const [first, second] = [Float32Array.of(1, 0, 1, 0), Float32Array.of(0, 1, 0, 1)];
    const scale = Math.hypot(0.75, 0.25);
    expect([...fadeVectors(first, second, 2)]).toEqual(
      [0.75 / scale, 0.25 / scale, 0.25 / scale, 0.75 / scale].map(Math.fround),
    );
  });
});

describe('quantisation', () => {
  it('rounds to the nearest step and clamps to ±127', () => {
    expect([...quantise(Float32Array.of(1, -1, 0.1, -0.1), 4, 100)]).toEqual([100, -100, 10, -10]);
    expect([...quantise(Float32Array.of(1, 0, 0, -1), 2, 173)]).toEqual([127, 0, 0, -127]);
  });

  it('keeps every squared norm at or under 32,767 at the largest dimension and the default step', () => {
    // Components at n + 0.5 steps are rounded up all at once: the worst that rounding can do to a unit
    // vector.
    const component = Math.ceil((173 / 16) * 2) / 2 / 173;
    const vector = new Float32Array(256).fill(component).map((value, i) => (i < 250 ? value : 0));
    const tokens = quantise(vector, 256, 173);
    expect(tokens.reduce((sum, value) => sum + value * value, 0)).toBeLessThanOrEqual(32_767);
  });
});
