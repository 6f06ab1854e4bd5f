import type { MomentTable, ProjectedMoments } from './moments.js';

/**
 * A linear function of the token moments of a protein. A null has two of them:
 *
 * - Promiscuity: unrelated pairs of some proteins exceed the threshold more often than those of others with equal
 *   lengths, pair moments and hubness. Natural proteins of the encoder's null sample give it.
 * - Class bias: by the rest of the null, domains of some structural classes meet more unrelated domains than claimed.
 *   Alpha/beta domains met 1.3 times as many, and alpha domains half. Most natural proteins have domains of several
 *   classes, and show little of it. Labelled domains of the encoder's training folds give it (bench/class-bias).
 */
export interface MomentWeights {
  /** [dimension]; unit: ln of a frequency per component of the mean token */
  readonly meanWeights: readonly number[];
  /** [rank]; unit: ln of a frequency per component of the sketch */
  readonly sketchWeights: readonly number[];
}

/** Class bias of proteins. Unit: ln of found ÷ claimed unrelated targets, which a protein of a pair has half of. */
export interface ClassBias extends MomentWeights {
  /** What is added, so that the mean of the labelled domains is 0. */
  readonly offset: number;
  /** Bounds, so that proteins unlike the labelled domains do not get values that were never seen. */
  readonly smallest: number;
  readonly largest: number;
}

/**
 * Returns the weighted sum of a protein's moments; 0 without weights.
 * Unit   ln of a frequency, up to a constant of the weights
 */
export function momentSum(weights: MomentWeights | undefined, moments: ProjectedMoments): number {
  if (weights === undefined) return 0;
  return weighted(weights.meanWeights, moments.mean, 0) + weighted(weights.sketchWeights, moments.sketch, 0);
}

/** Returns the same sum for a target in a table of moments; 0 without weights. */
export function targetMomentSum(
  weights: MomentWeights | undefined,
  { dimension, rank, means, sketches }: MomentTable,
  target: number,
): number {
  if (weights === undefined) return 0;
  return (
    weighted(weights.meanWeights, means, target * dimension) +
    weighted(weights.sketchWeights, sketches, target * rank)
  );
}

/** Returns the class bias of a protein; 0 without model. Range: smallest..largest */
export function classBiasOf(bias: ClassBias | undefined, moments: ProjectedMoments): number {
  return bounded(bias, momentSum(bias, moments));
}

/** Returns the class bias of a target in a table of moments; 0 without model. Range: smallest..largest */
export function targetClassBias(bias: ClassBias | undefined, moments: MomentTable, target: number): number {
  return bounded(bias, targetMomentSum(bias, moments, target));
}

function bounded(bias: ClassBias | undefined, sum: number): number {
  if (bias === undefined) return 0;
  return Math.max(bias.smallest, Math.min(bias.largest, sum + bias.offset));
}

function weighted(weights: readonly number[], values: Float64Array | Float32Array, start: number): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at += 1) sum += weights[at] * values[start + at];
  return sum;
}
