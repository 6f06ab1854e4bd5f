import { continuedTail, type TailModel } from '../significance/tail-model.js';
import { MASS_ONE, type Reached } from './walk.js';

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
 * Returns ln of the E-value of a target that a walk reaches: the expected number of unrelated targets with at least its
 * mass. A walk is no surer than the weakest hit on its surest path. If this hit is a chance hit, all homologs of the
 * query pass their mass on by it, and the mass says nothing.
 * Unit    targets, as a natural logarithm
 * Range   undefined below the threshold of the tail, where unrelated targets outnumber homologs
 */
export function walkLogEValue(
  { mass, weakestLogEValue }: Pick<Reached, 'mass' | 'weakestLogEValue'>,
  targetCount: number,
  { tail, leastLogProbability }: WalkNull,
): number | undefined {
  const score = walkScore(mass);
  if (score < tail.threshold) return undefined;
  const { logProbability } = continuedTail(tail, score, leastLogProbability);
  return Math.max(Math.log(targetCount) + logProbability, weakestLogEValue);
}

/** Score of a mass. Range: negative infinity for 0 */
export function walkScore(mass: number): number {
  return Math.log(mass / MASS_ONE);
}
