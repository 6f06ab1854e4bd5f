// @module-tag fast

import { describe, expect, it } from 'vitest';
import { AMINO_ACIDS, BLOSUM62, blosum62Scores } from '#src/sequence/substitution.js';

const scoreOf = (scores: Int8Array, query: string, target: string): number =>
  scores[(query.charCodeAt(0) % 32) * 32 + (target.charCodeAt(0) % 32)];

describe('BLOSUM62', () => {
  it('is symmetric', () => {
    BLOSUM62.forEach((row, query) => {
      row.forEach((score, target) => expect(BLOSUM62[target][query]).toBe(score));
    });
  });

  it('is indexed by letters of either case and multiplied by the weight', () => {
    const scores = blosum62Scores(3);
    expect(scoreOf(scores, 'W', 'W')).toBe(33);
    expect(scoreOf(scores, 'w', 'W')).toBe(33);
    expect(scoreOf(scores, 'A', 'R')).toBe(-3);
    expect(scoreOf(scores, 'C', 'C')).toBe(27);
    const all = [...AMINO_ACIDS].reduce((sum, letter) => sum + scoreOf(scores, letter, letter), 0);
    expect(all).toBe(3 * BLOSUM62.reduce((sum, row, at) => sum + row[at], 0));
  });

  it('is 0 for letters that are not amino acids', () => {
    const scores = blosum62Scores(11);
    for (const letter of 'BJOUXZ*') expect(scoreOf(scores, letter, 'W')).toBe(0);
    expect(Math.max(...scores)).toBe(121);
  });
});
