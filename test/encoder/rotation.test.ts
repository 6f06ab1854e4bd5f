// @module-tag fast

import { describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import { randomOrthogonal } from '#src/encoder/rotation.js';

describe('a random orthogonal matrix', () => {
  it.each([
    [64, 64],
    [320, 64],
    [5, 1],
  ])('of %i × %i has orthonormal columns', (rows, columns) => {
    const matrix = randomOrthogonal(rows, columns, 7);
    for (let a = 0; a < columns; a++) {
      for (let b = a; b < columns; b++) {
        let dot = 0;
        for (let i = 0; i < rows; i++) dot += matrix[i * columns + a] * matrix[i * columns + b];
        expect(dot).toBeCloseTo(a === b ? 1 : 0, 5);
      }
    }
  });

  it('is the same for the same seed, here and on every machine', () => {
    const digest = (seed: number) => sha256Hex(new Uint8Array(randomOrthogonal(16, 8, seed).buffer));
    expect(digest(1)).toBe(digest(1));
    expect(digest(1)).not.toBe(digest(2));
    expect(digest(1)).toBe('a63ff0edfbe2d56c2c4999cd02d72405f766ce3a3e3c4ef6ec9c6a02ba030fe1');
  });

  it('cannot have more columns than rows', () => {
    expect(() => randomOrthogonal(3, 4, 1)).toThrow(RangeError);
  });
});
