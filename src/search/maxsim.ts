import type { Candidate } from './search-types.js';

/**
 * Mean closest cosine distances from the integer sums of one target.
 * Unit    1 − cosine, so 0 is identical direction and 2 opposite; the bidirectional one is the mean of the two
 * Range   1 ± 32,767 ÷ inverseStep² (Cauchy–Schwarz), so that the distance of a protein to itself can be slightly
 *         negative; it is never clamped
 * Source  cosine = dot / inverseStep², fixed by the encoder
 */
export function maxsimDistances(
  sums: { readonly queryToTarget: number; readonly targetToQuery: number },
  queryLength: number,
  targetLength: number,
  inverseStep: number,
): Candidate['maxsim'] {
  const unit = inverseStep * inverseStep;
  const queryToTarget = 1 - sums.queryToTarget / (unit * queryLength);
  const targetToQuery = 1 - sums.targetToQuery / (unit * targetLength);
  return { bidirectional: (queryToTarget + targetToQuery) / 2, queryToTarget, targetToQuery };
}
