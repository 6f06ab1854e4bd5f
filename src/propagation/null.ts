import { MASS_ONE, type Reached } from './walk.js';

/*
 * How many unrelated targets a walk of one query reaches with at least a mass. One curve serves all databases, because
 * the weights of hits come from E-values, which count the targets already. It was fitted to half of the labelled folds
 * (bench/propagation). Databases with and without homologs, and of a quarter of the domains, have nearly the same one.
 */

/** Coefficients of ln E by powers of the score, for REFERENCE_TARGETS. Unit: natural logarithm */
const CURVE = { constant: -1.98, linear: -1.9, quadratic: -0.156 } as const;
/** Lowest score with an E-value: some thirty unrelated targets of a walk have more. */
const LOWEST_SCORE = -4;
/** Targets of the labelled world. */
const REFERENCE_TARGETS = 8_953;
/** Power of the number of targets: a quarter of them have .7 times as many unrelated ones, by larger families. */
const SIZE_POWER = 0.25;

/** Null model of the walks of one database. */
export interface WalkNull {
  /** How much the curve is raised for a database whose reversed proteins reach more than usual. Range: 1 or more */
  readonly level: number;
}

/**
 * Returns ln of the E-value of a target that a walk reaches: the expected number of unrelated targets with at least its
 * mass. A walk is no surer than the weakest hit on its surest path. If this hit is a chance hit, all homologs of the
 * query pass their mass on by it, and the mass says nothing.
 * Unit    targets, as a natural logarithm
 * Range   undefined below the lowest score, where unrelated targets outnumber homologs
 */
export function walkLogEValue(
  { mass, weakestLogEValue }: Pick<Reached, 'mass' | 'weakestLogEValue'>,
  targetCount: number,
  { level }: WalkNull,
): number | undefined {
  const score = walkScore(mass);
  if (score < LOWEST_SCORE) return undefined;
  const { constant, linear, quadratic } = CURVE;
  const curve = constant + linear * score + quadratic * score ** 2;
  const size = SIZE_POWER * Math.log(targetCount / REFERENCE_TARGETS);
  return Math.max(curve + size + Math.log(level), weakestLogEValue);
}

/** Score of a mass: its natural logarithm, 0 or more for a certain direct hit. Range: negative infinity for 0 */
export function walkScore(mass: number): number {
  return Math.log(mass / MASS_ONE);
}
