import { PROFILE_WIDTH, type QueryTokens } from '../kernels/kernels.js';
import type { ReleaseAffine } from '../release/release.js';
import { AMINO_ACIDS, equalLetterScore } from '../sequence/substitution.js';
import { pairAffine } from './affine.js';

/**
 * Affine score of a protein with itself along the diagonal: Σ max(0, s(t, t)).
 * It normalises affine scores, so that a protein against itself has about 1.
 * Unit    substitution score; an integer
 */
export function diagonalSelfScore(
  tokens: QueryTokens,
  sequence: string,
  dimension: number,
  affine: ReleaseAffine,
): number {
  const { multiplier, offset, letterScores, profileWeight } = pairAffine(affine, tokens);
  let total = 0;
  for (let row = 0; row < tokens.length; row += 1) {
    const dot = squaredNorm(tokens.values, row * dimension, dimension);
    // Both factors fit in int16, so the product fits in the int32 of the shift.
    let score = ((dot * multiplier) >> 16) - offset;
    if (letterScores !== undefined) score += equalLetterScore(letterScores, sequence.charCodeAt(row));
    if (profileWeight !== undefined && tokens.profile !== undefined) {
      const overlap = squaredNorm(tokens.profile, row * PROFILE_WIDTH, AMINO_ACIDS.length);
      score += (profileLog(overlap) * profileWeight) >> 16;
    }
    total += Math.max(0, score);
  }
  return total;
}

function squaredNorm(values: Int8Array, start: number, count: number): number {
  let sum = 0;
  for (let at = start; at < start + count; at += 1) sum += values[at] * values[at];
  return sum;
}

/** L of kernels/kernels.h: log2((x + 1) ÷ 2) in 1,024ths, linear between powers of two. */
function profileLog(overlap: number): number {
  const exponent = 31 - Math.clz32(overlap + 1);
  return 1_024 * (exponent - 2) + (((overlap + 1) << 10) >> exponent);
}
