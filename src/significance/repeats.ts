/*
 * What the repeats of a pair add to its score. In a protein of repeats, such as a propeller or a solenoid, each unit
 * aligns with several units of another such protein. Hence two of them score high without a common ancestor of the
 * whole. Reversed queries do not show that: a unit in reverse order aligns with none.
 */

/** How repeats lower the coordinate of a pair. */
export interface RepeatModel {
  /** Mean excesses that one unit of the repeat share takes off the coordinate. */
  readonly weight: number;
  /** Repeat share up to which proteins count as usual. Range: 0..1 */
  readonly usualShare: number;
  /** Repeat share from which on more repeats change nothing. Range: usualShare..1 */
  readonly largestShare: number;
}

/**
 * Returns what the repeats of two proteins take off the coordinate of their pair: the weight times the smaller repeat
 * share (`repeatShareOf`) beyond the usual one. The order does not matter.
 * Unit   mean excesses
 * Range  0..weight · (largestShare − usualShare); 0 without a model
 */
export function repeatExcess(model: RepeatModel | undefined, one: number, other: number): number {
  if (model === undefined) return 0;
  const share = Math.min(one, other, model.largestShare);
  return model.weight * Math.max(0, share - model.usualShare);
}
