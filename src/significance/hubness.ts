import {
  expectedOf,
  MOST_TERMS,
  shapeTerms,
  type NullPair,
  type PairShape,
  type ShapeScales,
} from './pair-null.js';

/**
 * Hubness: some proteins are more similar to all others than their lengths and moments predict. The hubness of a
 * protein is its mean excess similarity to a reference set of targets that the calibration chose. Homologs in the
 * reference set change it little, because the contribution of each member is bounded.
 */
export interface HubnessModel {
  /** Regression weights of the expected mean closest cosine of an unrelated pair, one per term of its shape. */
  readonly weights: readonly number[];
  /** Bounds of the contribution of one member of the reference set. Unit: cosine. */
  readonly minimum: number;
  readonly maximum: number;
  /** Present if the release has profiles. */
  readonly leanings?: HubnessComponentModel;
}

/**
 * Principal components of the contributions of the reference set. Two proteins that are similar to the same members,
 * such as two helical proteins, are similar to each other without homology.
 */
export interface HubnessComponentModel {
  /** Mean over the sample of each member's contribution less the protein's hubness. Unit: cosine. */
  readonly centres: readonly number[];
  /** [HUBNESS_COMPONENT_COUNT][reference set], scaled so that components have a root mean square of 1 in the sample. */
  readonly directions: readonly (readonly number[])[];
}

/**
 * Returns the contribution of a pair to the hubness of either protein: observed less expected similarity, bounded.
 * Unit   cosine
 * Range  model.minimum..model.maximum
 */
export function hubnessContribution(
  model: HubnessModel,
  scales: ShapeScales,
  pair: PairShape,
  meanClosestCosine: number,
): number {
  shapeTerms(pair, scales, scratch);
  const excess = meanClosestCosine - expectedOf(model.weights, scratch);
  return Math.min(model.maximum, Math.max(model.minimum, excess));
}

const scratch = new Float64Array(MOST_TERMS);

/** The hubness covariates of one protein. */
export interface ProteinHubness {
  /** Unit: cosine. */
  readonly hubness: number;
  /** One per direction; empty without profiles. */
  readonly hubnessComponents: readonly number[];
}

/** Sums of the contributions of a reference set to the hubness of proteins. */
export interface HubnessTable {
  /** Sums of the contributions added so far. Shape: [protein × (1 + directions)], row-major. Unit: cosine */
  readonly sums: Float64Array;
  add(protein: number, member: number, contribution: number): void;
  /** Returns the hubness of a protein. Every member except the protein itself must have been added. */
  of(protein: number): ProteinHubness;
}

export interface HubnessTableSize {
  readonly referenceSetSize: number;
  readonly proteinCount: number;
  /** Returns the index of a protein in the reference set, or −1. Default: −1 for every protein. */
  readonly memberOf?: (protein: number) => number;
  /** Initial sums of a table that continues another one; the table changes this array. Default: zeros. */
  readonly sums?: Float64Array;
}

/**
 * Returns a table to which contributions can be added.
 * Cost  8 bytes per protein, 24 with hubness components
 */
export function createHubnessTable(
  { leanings }: HubnessModel,
  { referenceSetSize, proteinCount, memberOf = () => -1, sums: initialSums }: HubnessTableSize,
): HubnessTable {
  const { centres, directions } = leanings ?? { centres: [], directions: [] };
  const width = 1 + directions.length;
  const sums = initialSums ?? new Float64Array(proteinCount * width);
  const wholes = directions.map((direction) => direction.reduce((sum, value) => sum + value, 0));
  return {
    sums,
    add(protein, member, contribution) {
      const start = protein * width;
      sums[start] += contribution;
      for (let at = 0; at < directions.length; at += 1) {
        sums[start + 1 + at] += directions[at][member] * (contribution - centres[member]);
      }
    },
    of(protein) {
      const own = memberOf(protein);
      const start = protein * width;
      const hubness = sums[start] / Math.max(1, referenceSetSize - (own < 0 ? 0 : 1));
      const hubnessComponentAt = (at: number): number =>
        sums[start + 1 + at] - hubness * (wholes[at] - (own < 0 ? 0 : directions[at][own]));
      return { hubness, hubnessComponents: directions.map((_, at) => hubnessComponentAt(at)) };
    },
  };
}

/** Returns the hubness covariates of a pair from those of its two proteins. */
export function hubnessesOf(
  query: ProteinHubness,
  target: ProteinHubness,
): Pick<NullPair, 'queryHubness' | 'targetHubness' | 'hubnessComponents'> {
  return {
    queryHubness: query.hubness,
    targetHubness: target.hubness,
    hubnessComponents: hubnessComponentsOf(query, target),
  };
}

/** Returns the product of the hubness components of two proteins, one per direction. */
export function hubnessComponentsOf(first: ProteinHubness, second: ProteinHubness): readonly number[] {
  return first.hubnessComponents.map((value, at) => value * second.hubnessComponents[at]);
}
