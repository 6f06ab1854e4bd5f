import { MASS_ONE, type Reached } from './walk.js';

/*
 * How many unrelated targets a walk of one query reaches with at least a score. Two curves serve all databases, one for
 * those with homologs and one for those without, because the weights of hits come from E-values, which count the
 * targets already. They were fitted to half of the labelled folds (bench/propagation). Databases of a quarter of the
 * domains have nearly the same ones.
 */

/** ln E by the score, for REFERENCE_TARGETS: quadratic from `lowest` on, and below it a line of the same slope. */
interface Curve {
  readonly constant: number;
  readonly linear: number;
  readonly quadratic: number;
  readonly lowest: number;
}

const CURVE: Curve = { constant: 0.74, linear: -1.8, quadratic: -0.28, lowest: -1 };
/** With homologs, chance hits lead more often to homologs of their own. */
const CURVE_WITH_HOMOLOGS: Curve = { constant: 1.8, linear: -0.94, quadratic: -0.28, lowest: -0.65 };
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
 * score. It is no less than that of the weakest hit on the surest path, times the number of certain hits that the mass
 * of the query's hits amounts to. If the weakest hit is a chance hit, all homologs of the query pass their mass on by
 * it, and the mass says nothing. Each of these homologs could have had such a chance hit.
 * Unit    targets, as a natural logarithm
 */
export function walkLogEValue(
  reached: Pick<Reached, 'mass' | 'startMass' | 'weakestLogEValue'>,
  targetCount: number,
  { has_homologs: hasHomologs, level }: WalkNull,
): number {
  const curve = hasHomologs ? CURVE_WITH_HOMOLOGS : CURVE;
  const size = SIZE_POWER * Math.log(targetCount / REFERENCE_TARGETS);
  const byMass = logExpected(walkScore(reached), curve) + size + Math.log(level);
  return Math.max(byMass, reached.weakestLogEValue + Math.log(certainHits(reached)));
}

function logExpected(score: number, { constant, linear, quadratic, lowest }: Curve): number {
  const from = Math.max(score, lowest);
  const slope = linear + 2 * quadratic * lowest;
  return constant + linear * from + quadratic * from ** 2 + slope * (score - from);
}

/**
 * Score of a target: ln of its mass and of a root of the query's, 0 or more for a certain direct hit. A family
 * divides mass among its members, so that those of a large family get little each. The query's own hits say how large
 * its family is.
 * Range  negative infinity for a mass of 0
 */
export function walkScore(reached: Pick<Reached, 'mass' | 'startMass'>): number {
  return Math.log(reached.mass / MASS_ONE) + START_POWER * Math.log(certainHits(reached));
}

/** Number of certain hits that the mass of all hits of a query amounts to. Range: 1..START_MAX */
function certainHits({ startMass }: Pick<Reached, 'startMass'>): number {
  return Math.min(Math.max(1, startMass / MASS_ONE), START_MAX);
}
