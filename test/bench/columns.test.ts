import { describe, expect, it } from 'vitest';
import { columnsOfA3m } from '../../bench/columns/hhblits.js';

describe('columns of an A3M file of hhblits', () => {
  const sequences = new Map([
    ['query', 'MKLVA'],
    ['target', 'GGMKUWLA'],
  ]);

  it('pairs the letters of columns, and counts insertions on the target only', () => {
    const rows = columnsOfA3m('>query\nMKLVA\n>target description\nMKxwL-A\n', sequences);
    expect([...rows]).toEqual([
      [
        'target',
        [
          [0, 2],
          [1, 3],
          [2, 6],
          [4, 7],
        ],
      ],
    ]);
  });

  it('keeps the row with most columns of a protein that has several', () => {
    const rows = columnsOfA3m('>query\nMKLVA\n>target\n--L--\n>target\nMK---\n', sequences);
    expect(rows.get('target')).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  it('refuses a row whose letters its protein does not have', () => {
    expect(() => columnsOfA3m('>query\nMKLVA\n>target\nVVVVV\n', sequences)).toThrow(
      /target has the letters/,
    );
  });
});
