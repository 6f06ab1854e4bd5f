import { continuedTail, type TailModel } from '../significance/tail-model.js';
import { MASS_ONE } from './walk.js';

/**
 * Null model of walks: scores of targets that the walks of reversed proteins reach. Every such target is unrelated.
 * Unit    score: ln of mass ÷ MASS_ONE, so that a certain direct hit has 0 or more
 */
export interface WalkNull {
  readonly tail: TailModel;
  /** ln P down to which the sample supports the tail. Below it the exponential that touches the tail continues it. */
  readonly leastLogProbability: number;
}

/**
 * Returns ln of the E-value of a walk's mass: the expected number of unrelated targets with at least this mass.
 * Unit    targets, as a natural logarithm
 * Range   undefined below the threshold of the tail, where unrelated targets outnumber homologs
 */
export function walkLogEValue(
  mass: number,
  targetCount: number,
  { tail, leastLogProbability }: WalkNull,
): number | undefined {
  const score = walkScore(mass);
  if (score < tail.threshold) return undefined;
  return Math.log(targetCount) + continuedTail(tail, score, leastLogProbability).logProbability;
}

/** Score of a mass. Range: negative infinity for 0 */
export function walkScore(mass: number): number {
  return Math.log(mass / MASS_ONE);
}
