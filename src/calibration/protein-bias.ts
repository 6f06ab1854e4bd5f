import { expectedOf, MOST_TERMS, shapeTerms, type PairShape, type ShapeScales } from './pair-null.js';

/**
 * Some proteins are close to everything: closer than their lengths and moments say. How much is measured against a
 * panel of targets that the calibration has chosen; relatives in the panel move it little, because what each panel
 * member can contribute is bounded.
 */
export interface BiasModel {
  /** Expected closeness of an unrelated pair, one weight per term of its shape. */
  readonly weights: readonly number[];
  /** Bounds of one panel member's contribution. Unit: cosine. */
  readonly minimum: number;
  readonly maximum: number;
}

/** What a pair's closeness adds to the bias of either protein. */
export function biasContribution(
  model: BiasModel,
  scales: ShapeScales,
  pair: PairShape,
  closeness: number,
): number {
  shapeTerms(pair, scales, scratch);
  const excess = closeness - expectedOf(model.weights, scratch);
  return Math.min(model.maximum, Math.max(model.minimum, excess));
}

const scratch = new Float64Array(MOST_TERMS);
