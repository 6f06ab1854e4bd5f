// @module-tag fast

import { describe, expect, it } from 'vitest';
import { BACKGROUND, SCALES } from '#src/sequence/residue-scales.js';
import { BLOSUM62 } from '#src/sequence/substitution.js';

describe('tables of amino acids', () => {
  it('hold a symmetric BLOSUM62 whose expected score is negative', () => {
    let expected = 0;
    BLOSUM62.forEach((row, i) =>
      row.forEach((score, j) => {
        expect(score).toBe(BLOSUM62[j][i]);
        expected += score * BACKGROUND[i] * BACKGROUND[j];
      }),
    );
    // −0.52 half bits is the published expectation of BLOSUM62 (Henikoff & Henikoff 1992) with its own
    // background.
    expect(expected).toBeGreaterThan(-1.1);
    expect(expected).toBeLessThan(-0.5);
  });

  it('hold one value per amino acid', () => {
    for (const scale of [BACKGROUND, ...Object.values(SCALES)]) expect(scale).toHaveLength(20);
    expect(BACKGROUND.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 4);
  });
});
