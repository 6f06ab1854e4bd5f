/** Factor of a direct E-value beside that of a walk. */
const DIRECT_FACTOR = 10;

/**
 * Returns ln of the joint E-value of a target by both comparisons: the smaller of the walk's E-value and ten times the
 * direct one. The smaller of two E-values is small by chance more often than either, so that one has to be paid for it.
 * The direct one pays, because the walk has counted the direct hit already and ranks better.
 * Unit    targets, as a natural logarithm; undefined for a target that a comparison does not list
 * Range   Infinity if neither comparison lists the target
 * Source  weighted Bonferroni; on half of the labelled folds factors from 5 to 100 rank alike (bench/propagation)
 */
export function jointLogEValue(direct: number | undefined, walk: number | undefined): number {
  return Math.min((direct ?? Infinity) + Math.log(DIRECT_FACTOR), walk ?? Infinity);
}

/**
 * Returns the joint E-value of a target by both comparisons (`jointLogEValue`).
 * Unit    targets; the arguments are natural logarithms
 * Range   undefined if neither comparison lists the target
 */
export function jointEValue(direct: number | undefined, walk: number | undefined): number | undefined {
  const logEValue = jointLogEValue(direct, walk);
  return logEValue === Infinity ? undefined : Math.exp(logEValue);
}
