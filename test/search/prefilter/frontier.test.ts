// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { Candidate } from '#src/search/search-types.js';
import { chooseFrontier, withEvidenceRanks } from '#src/search/prefiltered.js';

/** Candidates by rank, each with its affine score and, if judged, its ln P. */
function candidates(...given: readonly (readonly [score: number, logP?: number])[]): readonly Candidate[] {
  return given.map(
    ([rawScore, logTailProbability], at) =>
      ({
        rank: at + 1,
        targetIndex: at,
        affine: { rawScore, normalizedScore: 0 },
        significance:
          logTailProbability === undefined
            ? { kind: 'unsupported' }
            : { kind: 'supported', logTailProbability },
      }) as Candidate,
  );
}

const chosen = (list: readonly Candidate[], limit: number): readonly number[] =>
  chooseFrontier(list, limit).map(({ targetIndex }) => targetIndex);

describe('the list of a prefilter policy', () => {
  it('has the best E-values in their given order, with new ranks', () => {
    const list = candidates([900, -1], [100, -30], [500, -2], [200, -20]);
    expect(chosen(list, 2)).toEqual([1, 3]);
    expect(chooseFrontier(list, 2).map(({ rank }) => rank)).toEqual([1, 2]);
  });

  it('is ordered by affine score without E-values, and equal scores by rank', () => {
    expect(chosen(candidates([5], [9], [7], [9]), 2)).toEqual([1, 3]);
    expect(chosen(candidates([9], [9], [9]), 2)).toEqual([0, 1]);
  });

  it('is ordered by affine score for equal E-values', () => {
    expect(chosen(candidates([1, 0], [3, 0], [2, 0]), 2)).toEqual([1, 2]);
  });

  it('keeps a candidate without an E-value at the place of its score', () => {
    // By score: 1, 0, 3, 2. The unjudged first candidate stays, and the best two E-values are added.
    const list = candidates([80, -1], [90], [10, -50], [50, -9]);
    expect(chosen(list, 3)).toEqual([1, 2, 3]);
    // An unjudged candidate with a low score is left out even if few are judged.
    expect(chosen(candidates([80, -1], [90, -2], [10]), 2)).toEqual([0, 1]);
  });

  it('contains the list of every smaller limit', () => {
    const list = candidates([5, -3], [8], [7, -1], [9, -2], [2, -9], [6]);
    for (let limit = 1; limit < 6; limit += 1) {
      expect(chosen(list, limit + 1)).toEqual(expect.arrayContaining([...chosen(list, limit)]));
    }
    expect(chooseFrontier(list, 6)).toBe(list);
  });

  it('is the beginning of the list of every larger limit in the order of evidence ranks', () => {
    const list = withEvidenceRanks(candidates([5, -3], [8], [7, -1], [9, -2], [2, -9], [6], [2, -9]));
    expect(list.map(({ targetIndex }) => targetIndex)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    const inOrder = [...list].sort((a, b) => a.evidenceRank! - b.evidenceRank!);
    expect(inOrder.map(({ evidenceRank }) => evidenceRank)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (let limit = 1; limit <= 7; limit += 1) {
      const listed = chooseFrontier(list, limit).map(({ evidenceRank }) => evidenceRank!);
      expect(listed.sort((a, b) => a - b)).toEqual(inOrder.slice(0, limit).map((one) => one.evidenceRank));
    }
  });
});
