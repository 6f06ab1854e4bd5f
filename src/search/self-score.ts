import type { QueryTokens } from '../kernels/kernels.js';
import type { ReleaseAffine } from '../release/release.js';
import { equalLetterScore } from '../sequence/substitution.js';

/**
 * Affine score of a protein with itself along the diagonal: Σ max(0, s(t, t)).
 * It normalises affine scores, so that a protein against itself has about 1.
 * Unit    substitution score; an integer
 */
export function diagonalSelfScore(
  tokens: QueryTokens,
  sequence: string,
  dimension: number,
  { multiplier, offset, letterScores }: ReleaseAffine,
): number {
  let total = 0;
  for (let row = 0; row < tokens.length; row += 1) {
    let dot = 0;
    const end = (row + 1) * dimension;
    for (let at = row * dimension; at < end; at += 1) dot += tokens.values[at] * tokens.values[at];
    // Both factors fit in int16, so the product fits in the int32 of the shift.
    const letters = letterScores && equalLetterScore(letterScores, sequence.charCodeAt(row));
    total += Math.max(0, ((dot * multiplier) >> 16) - offset + (letters ?? 0));
  }
  return total;
}
