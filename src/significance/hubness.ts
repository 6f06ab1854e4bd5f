import {
  expectedOf,
  MOST_TERMS,
  shapeTerms,
  type NullPair,
  type PairShape,
  type ShapeScales,
} from './pair-null.js';

/**
 * Some proteins are close to everything: closer than their lengths and moments say. How much is measured against a
 * panel of targets that the calibration has chosen; relatives in the panel move it little, because what each panel
 * member can contribute is bounded.
 */
export interface HubnessModel {
  /** Expected closeness of an unrelated pair, one weight per term of its shape. */
  readonly weights: readonly number[];
  /** Bounds of one panel member's contribution. Unit: cosine. */
  readonly minimum: number;
  readonly maximum: number;
  /** Where there are profiles. */
  readonly leanings?: HubnessComponentModel;
}

/**
 * Proteins that are close to the same members of the panel are close to each other, related or not: helical ones, say.
 * The directions in which proteins differ most in this, over the panel.
 */
export interface HubnessComponentModel {
  /** Mean over the sample of what each member of the panel contributes beyond a protein's bias. */
  readonly centres: readonly number[];
  /** [LEANING_COUNT][panel]: a protein's leanings have a spread of 1 over the sample. */
  readonly directions: readonly (readonly number[])[];
}

/** What a pair's closeness adds to the bias of either protein. */
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

/** A protein as the null sees it beside its moments. */
export interface ProteinHubness {
  readonly hubness: number;
  /** One for each direction; none without profiles. */
  readonly hubnessComponents: readonly number[];
}

/** What the members of a panel contribute to proteins, added up. */
export interface HubnessTable {
  /** So far. Shape: [protein × (1 + directions)], row-major */
  readonly sums: Float64Array;
  add(protein: number, member: number, contribution: number): void;
  /** After all members but the protein itself were added. */
  of(protein: number): ProteinHubness;
}

export interface HubnessTableSize {
  readonly referenceSetSize: number;
  readonly proteinCount: number;
  /** Place of a protein in the panel, −1 for none; default: none is in it. */
  readonly memberOf?: (protein: number) => number;
  /** To go on from. */
  readonly sums?: Float64Array;
}

/** Cost: 8 bytes a protein, 24 with leanings */
export function createHubnessTable(
  { leanings }: HubnessModel,
  { referenceSetSize, proteinCount, memberOf = () => -1, sums: given }: HubnessTableSize,
): HubnessTable {
  const { centres, directions } = leanings ?? { centres: [], directions: [] };
  const width = 1 + directions.length;
  const sums = given ?? new Float64Array(proteinCount * width);
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

/** What a pair takes of the biases of its two proteins. */
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

/** What two proteins lean to together, by direction. */
export function hubnessComponentsOf(first: ProteinHubness, second: ProteinHubness): readonly number[] {
  return first.hubnessComponents.map((value, at) => value * second.hubnessComponents[at]);
}
