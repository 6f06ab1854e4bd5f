// @module-tag fast

import { describe, expect, it } from 'vitest';
import { numericBytes, textArrayBytes } from '#src/sql/engine/postgres-binary.js';

/** Digit count, weight, sign, scale, and the digits of base 10,000. */
const int16s = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(2 * index));

describe('binary forms', () => {
  // Computed by hand from the format of PostgreSQL's numeric_send.
  it.each([
    ['0', [0, 0, 0, 0]],
    ['1', [1, 0, 0, 0, 1]],
    ['10000', [1, 1, 0, 0, 1]],
    ['12345678', [2, 1, 0, 0, 1234, 5678]],
    ['-1.50', [2, 0, 0x4000, 2, 1, 5000]],
    ['0.0001', [1, 0xffff, 0, 4, 1]],
    ['0.00', [0, 0, 0, 2]],
    ['123456789.05', [4, 2, 0, 2, 1, 2345, 6789, 500]],
  ] as const)('numeric of %s', (decimal, expected) => {
    expect(int16s(numericBytes(decimal))).toEqual(expected);
  });

  it('text[] with and without items', () => {
    expect(textArrayBytes([])).toEqual(Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25]));
    expect(textArrayBytes(['é', null]).toString('hex')).toBe(
      ['00000001', '00000001', '00000019', '00000002', '00000001', '00000002', 'c3a9', 'ffffffff'].join(''),
    );
  });
});
