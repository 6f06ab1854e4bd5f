// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { HomologyCandidate } from '#src/contract/search/candidate-set.js';
import { splitAlignments } from '#src/services/export/rows.js';

const NORMALIZED = 0.04373838289962825;

/** Normalized scores of the rows of a pair whose alignments have these raw scores; the first is its own. */
function normalizedScores(rawScores: readonly number[]): readonly number[] {
  const [best] = rawScores;
  const alignments = rawScores.map((raw_score) => ({ alignment: {}, raw_score }));
  const affine = { raw_score: best, normalized_score: NORMALIZED };
  const candidate = { alignments, measurements: { affine }, significance: { measurements: {} } };
  return splitAlignments(candidate as unknown as HomologyCandidate).map(
    (row) => row.candidate.measurements.affine.normalized_score,
  );
}

describe('the rows of a pair with several alignments', () => {
  it('have the normalized score of the pair for its best alignment, to the last bit', () => {
    for (let best = 1; best < 3_000; best += 1) expect(normalizedScores([best])).toEqual([NORMALIZED]);
  });

  it('have a share of it for the others', () => {
    expect(normalizedScores([400, 100])).toEqual([NORMALIZED, NORMALIZED / 4]);
  });
});
