import { MASS_ONE, type Reached } from './walk.js';

/*
 * How many unrelated targets a walk of one query reaches with at least a score. Two curves serve all databases, one for
 * those with homologs and one for those without, because the weights of hits come from E-values, which count the
 * targets already. They were fitted to half of the labelled folds (bench/propagation). Databases of a quarter of the
 * domains have nearly the same ones.
 */

/** Coefficients of ln E by powers of the score, for REFERENCE_TARGETS. Unit: natural logarithm */
interface Curve {
  readonly constant: number;
  readonly linear: number;
  readonly quadratic: number;
}

const CURVE: Curve = { constant: -0.5, linear: -2.15, quadratic: -0.246 };
/** With homologs, chance hits lead more often to homologs of their own. */
const CURVE_WITH_HOMOLOGS: Curve = { constant: 0.97, linear: -1.445, quadratic: -0.226 };
/** Lowest score with an E-value: some thirty unrelated targets of a walk have more. */
const LOWEST_SCORE = -2.5;
/** Targets of the labelled world. */
const REFERENCE_TARGETS = 8_953;
/** Power of the number of targets: a quarter of them have .7 times as many unrelated ones, by larger families. */
const SIZE_POWER = 0.25;
/** Power of the mass of all hits of a query in a score. */
const START_POWER = 0.375;
/** Largest mass of all hits that counts: labelled queries have at most 139. Unit: that of a certain hit */
const START_MAX = 128;

/** Null model of the walks of one database. */
export interface WalkNull {
  readonly has_homologs: boolean;
  /** How much the curve is raised for a database whose reversed proteins reach more than usual. Range: 1 or more */
  readonly level: number;
}

/**
 * Returns ln of the E-value of a target that a walk reaches: the expected number of unrelated targets with at least its
 * score. A walk is no surer than the weakest hit on its surest path. If this hit is a chance hit, all homologs of the
 * query pass their mass on by it, and the mass says nothing.
 * Unit    targets, as a natural logarithm
 * Range   undefined below the lowest score, where unrelated targets outnumber homologs
 */
export function walkLogEValue(
  reached: Pick<Reached, 'mass' | 'startMass' | 'weakestLogEValue'>,
  targetCount: number,
  { has_homologs: hasHomologs, level }: WalkNull,
): number | undefined {
  const score = walkScore(reached);
  if (score < LOWEST_SCORE) return undefined;
  const { constant, linear, quadratic } = hasHomologs ? CURVE_WITH_HOMOLOGS : CURVE;
  const curve = constant + linear * score + quadratic * score ** 2;
  const size = SIZE_POWER * Math.log(targetCount / REFERENCE_TARGETS);
  return Math.max(curve + size + Math.log(level), reached.weakestLogEValue);
}

/**
 * Score of a target: ln of its mass and of a root of the query's, 0 or more for a certain direct hit. A family
 * divides mass among its members, so that those of a large family get little each. The query's own hits say how large
 * its family is.
 * Range  negative infinity for a mass of 0
 */
export function walkScore({ mass, startMass }: Pick<Reached, 'mass' | 'startMass'>): number {
  const start = Math.min(Math.max(1, startMass / MASS_ONE), START_MAX);
  return Math.log(mass / MASS_ONE) + START_POWER * Math.log(start);
}
