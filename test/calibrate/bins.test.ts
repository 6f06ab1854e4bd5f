import { describe, expect, it } from 'vitest';
import { independentCountOf } from '#src/calibrate/bins.js';

const pair = (first: number, second: number) => ({ score: 1, first, second });

describe('the number of independent exceedances', () => {
  it('is all of them where no two share a protein', () => {
    expect(independentCountOf(Array.from({ length: 50 }, (_, at) => pair(2 * at, 2 * at + 1)))).toBe(50);
  });

  it('is a handful, however many there are, where all share one', () => {
    expect(independentCountOf(Array.from({ length: 1_000 }, (_, at) => pair(0, at + 1)))).toBe(4);
  });

  it('is the number of proteins where those share them evenly', () => {
    const everyPair = Array.from({ length: 20 }, (_, first) =>
      Array.from({ length: first }, (_unused, second) => pair(second, first)),
    ).flat();
    expect(independentCountOf(everyPair)).toBe(20);
  });

  it('is none of none', () => {
    expect(independentCountOf([])).toBe(0);
  });
});
