// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { CutOffs } from '#src/contract/search/selection.js';
import type { Evidence } from '#src/services/evidence.js';
import { needAlignments, selectByEvidence } from '#src/services/select.js';

const aligned = (queryCoverageRatio: number, sequenceIdentityRatio = 0.3): Evidence['alignment'] => ({
  queryCoverageRatio,
  targetCoverageRatio: 1,
  sequenceIdentityRatio,
});
const FOUND: readonly Evidence[] = [
  { rank: 1, rawScore: 90, logEValue: -900, alignment: aligned(1, 1) },
  { rank: 2, rawScore: 10 },
  { rank: 3, rawScore: 95, logEValue: -1_200, alignment: aligned(0.4) },
  { rank: 4, rawScore: 30, logEValue: 2, alignment: aligned(0.9) },
  { rank: 5, rawScore: 50, alignment: aligned(0.6) },
  { rank: 6, rawScore: 31, logEValue: 2, alignment: aligned(0.9) },
];
const select = (sort: 'rank' | 'evalue' | 'score', cutOffs: CutOffs = {}) => {
  const { selected, leftOutCount } = selectByEvidence(FOUND, (evidence) => evidence, { sort, cutOffs });
  expect(selected.length + leftOutCount).toBe(FOUND.length);
  return selected.map(({ rank }) => rank);
};

describe('candidates ordered by evidence', () => {
  it('come by E-value even where a double cannot tell it from zero, then by score', () => {
    expect(Math.exp(-900)).toBe(Math.exp(-1_200));
    expect(select('evalue')).toEqual([3, 1, 6, 4, 5, 2]);
  });

  it('come by score or by rank on request', () => {
    expect(select('score')).toEqual([3, 1, 5, 6, 4, 2]);
    expect(select('rank')).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('cut-offs', () => {
  it('exclude candidates that fail them, and candidates without the value', () => {
    expect(select('rank', { maximum_expected_false_hits: 10 })).toEqual([1, 3, 4, 6]);
    expect(select('rank', { maximum_expected_false_hits: 1e-300 })).toEqual([1, 3]);
    expect(select('rank', { maximum_expected_false_hits: 0 })).toEqual([]);
    expect(select('rank', { minimum_query_coverage_ratio: 0.6 })).toEqual([1, 4, 5, 6]);
    expect(select('rank', { minimum_sequence_identity_ratio: 0.9 })).toEqual([1]);
    expect(select('rank', { minimum_target_coverage_ratio: 1 })).toEqual([1, 3, 4, 5, 6]);
  });

  it('that are empty exclude no candidate, and need no alignment', () => {
    expect(select('rank', { minimum_query_coverage_ratio: 0 })).toHaveLength(6);
    expect(needAlignments({ minimum_query_coverage_ratio: 0, maximum_expected_false_hits: 1 })).toBe(false);
    expect(needAlignments({ minimum_target_coverage_ratio: 0.1 })).toBe(true);
  });
});
