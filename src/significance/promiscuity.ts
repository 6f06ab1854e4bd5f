import type { MomentTable, ProjectedMoments } from './moments.js';

/**
 * Promiscuity: unrelated pairs of some proteins exceed the threshold more often than those of others with equal
 * lengths, pair moments and hubness. An alpha/beta protein, for instance, meets the pattern of its fold in many others.
 * A linear function of the token moments of a protein predicts ln of that frequency, up to a constant.
 */
export interface PromiscuityModel {
  /** [dimension]; unit: ln of the frequency per component of the mean token */
  readonly meanWeights: readonly number[];
  /** [rank]; unit: ln of the frequency per component of the sketch */
  readonly sketchWeights: readonly number[];
}

/**
 * Returns the promiscuity of a protein; 0 without model.
 * Unit   ln of a frequency, up to a constant of the model
 */
export function promiscuityOf(model: PromiscuityModel | undefined, moments: ProjectedMoments): number {
  if (model === undefined) return 0;
  return weighted(model.meanWeights, moments.mean, 0) + weighted(model.sketchWeights, moments.sketch, 0);
}

/** Returns the promiscuity of a target in a table of moments; 0 without model. */
export function targetPromiscuity(
  model: PromiscuityModel | undefined,
  { dimension, rank, means, sketches }: MomentTable,
  target: number,
): number {
  if (model === undefined) return 0;
  return (
    weighted(model.meanWeights, means, target * dimension) +
    weighted(model.sketchWeights, sketches, target * rank)
  );
}

function weighted(weights: readonly number[], values: Float64Array | Float32Array, start: number): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at += 1) sum += weights[at] * values[start + at];
  return sum;
}
