import { ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS } from '../../limits.js';
import { eValueOf, type CandidateSignificance } from './candidate-significance.js';

/*
 * A conditional E-value counts false alignments among accepted targets only: those whose smallest E-value is within the
 * cut-off. It is the E-value of the alignment times the number of accepted targets, divided by the number of searched
 * ones. It takes query and target as related and says how many of their alignments are wrong. A repeat that is too weak
 * to be a hit of its own is so listed beside a stronger one.
 * Source  HMMER User's Guide 3.3: conditional E-values of domains
 */

/**
 * Returns ln of accepted ÷ searched targets. Added to the ln of an E-value, it gives that of the conditional E-value.
 * Range  at most 0
 * @param acceptedCount  ≥ 1
 * @param logCount  ln of the number of targets that E-values count among
 */
export function logAcceptedShare(acceptedCount: number, logCount: number): number {
  return Math.min(0, Math.log(acceptedCount) - logCount);
}

/**
 * Largest tail probability of an alignment that a conditional E-value lists. A pair has many stretches, and chance
 * finds fragments of some residues in them. In a small database, these have E-values of less than 10.
 */
export const LARGEST_CONDITIONAL_PROBABILITY = 0.01;

/**
 * Returns the largest E-value of an alignment that is refined.
 * @param logCount  ln of the number of targets that E-values count among
 */
export function largestRefined(maxEValue: number, logCount: number): number {
  const ofProbability = LARGEST_CONDITIONAL_PROBABILITY * Math.exp(logCount);
  return Math.max(maxEValue, Math.min(ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS, ofProbability));
}

/**
 * Returns the largest E-value of a listed alignment: that whose conditional E-value is the cut-off, but not above what
 * is refined. Fragments of some residues would be listed otherwise, where a cut-off accepts many targets.
 * @param logShare  ln of accepted ÷ searched targets; 0 for a target that is not accepted
 * @param logCount  as of `largestRefined`
 */
export function largestListed(maxEValue: number, logShare: number, logCount: number): number {
  return Math.min(maxEValue * Math.exp(-logShare), largestRefined(maxEValue, logCount));
}

/** Number of candidates with an E-value within the cut-off. */
export function countWithin(
  candidates: readonly { readonly significance: CandidateSignificance }[],
  maxEValue: number,
): number {
  return candidates.filter((candidate) => (eValueOf(candidate) ?? Infinity) <= maxEValue).length;
}
