import type { QueryTokens } from '../kernels/kernels.js';
import { selfScore } from '../kernels/native.js';
import type { ReleaseAffine } from '../release/release.js';
import { pairAffine } from './affine.js';

/**
 * Affine score of a protein with itself along the diagonal: Σ max(0, s(t, t)).
 * It normalises affine scores, so that a protein against itself has about 1.
 * Shape   tokens.values int8 [tokens.length × dimension]
 * Unit    substitution score; an integer
 * Range   0..65,535 × 32,767
 */
export function diagonalSelfScore(
  tokens: QueryTokens,
  sequence: string,
  dimension: number,
  affine: ReleaseAffine,
): number {
  const { letterScores: scores, ...parameters } = pairAffine(affine, tokens);
  if (scores === undefined) return selfScore(tokens, dimension, parameters);
  const letters = { scores, query: Buffer.from(sequence, 'latin1'), targets: new Uint8Array(0) };
  return selfScore(tokens, dimension, { ...parameters, letters });
}
