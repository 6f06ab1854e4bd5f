import type { BinCard, CalibrationCard } from './card.js';
import type { MomentTable } from './moments.js';
import type { PairNull } from './pair-null.js';
import type { ClassBias, MomentWeights } from './moment-weights.js';
import type { RepeatModel } from './repeats.js';
import type { HubnessModel, ProteinHubness } from './hubness.js';
import type { ReferenceSet } from './reference-set.js';
import { continuedTail, type TailModel } from './tail-model.js';

/** The empirical null model of one release, with at least one qualified bin, in memory. */
export interface Calibration {
  /** `calib_…` */
  readonly id: string;
  readonly card: CalibrationCard;
  readonly pairNull: PairNull;
  /** Undefined in a null of a small sample or of an earlier version. */
  readonly promiscuity: MomentWeights | undefined;
  /** Undefined in a null that was fitted to a release, and in one of an earlier version. */
  readonly classBias: ClassBias | undefined;
  /** Undefined in a null that was fitted to a release, and in one of an earlier version. */
  readonly repeats: RepeatModel | undefined;
  /** [query stratum][target stratum] */
  readonly bins: readonly (readonly Bin[])[];
  /** One row per target of the release. */
  readonly moments: MomentTable;
  readonly hubness: HubnessModel;
  /** Hubness of a target of the release, and its hubness components. */
  readonly hubnesses: (target: number) => ProteinHubness;
  /** Repeat share of each target (`repeatShareOf`); undefined without a model of repeats. */
  readonly repeatShares: Float32Array | undefined;
  /** The proteins that a query's hubness is measured against. */
  readonly referenceSet: ReferenceSet;
  /** ln of the factor on tail probabilities that is the release's own; 0 if the null was fitted to the release. */
  readonly logLevel: number;
}

export interface Bin {
  readonly card: BinCard;
  readonly tail: TailModel;
}

/** How well the calibration sample supports a probability. The names are those of the contract. */
export type TailSupport =
  | 'within_calibration_sample'
  | 'below_tail_threshold'
  | 'within_extrapolation_limit'
  | 'beyond_extrapolation_limit';

export interface TailJudgement {
  /** ln P(score ≥ x). */
  readonly logProbability: number;
  readonly support: TailSupport;
  /** The exponential k · e^(−λ · x) that touches the tail at this score; absent below the threshold. */
  readonly tangent?: { readonly lambda: number; readonly logK: number };
}

/** Returns whether at least one bin of the calibration is qualified. */
export function isQualified(card: CalibrationCard): boolean {
  return card.bins.some(({ status }) => status === 'qualified');
}

/**
 * Returns the length stratum of a protein.
 * Unit   residues
 * Range  0..edges.length; `edges` ascend, and each is the lower end of its stratum
 */
export function stratumOf(length: number, edges: readonly number[]): number {
  let stratum = 0;
  while (stratum < edges.length && length >= edges[stratum]) stratum += 1;
  return stratum;
}

/**
 * Returns ln P that an unrelated pair of this bin reaches the tail coordinate.
 * Unit    natural logarithms
 * Range   falls strictly above the threshold and has no lower bound; beyond `maximumLogExtrapolation` the tail
 *         continues as an exponential, and `support` says so
 */
export function judgeTail(
  { card, tail }: Bin,
  coordinate: number,
  maximumLogExtrapolation: number,
): TailJudgement {
  if (coordinate < tail.threshold) {
    return { logProbability: bodyLogProbability(card.body, coordinate), support: 'below_tail_threshold' };
  }
  const lowest = checkedLogProbability(card, maximumLogExtrapolation);
  const { logProbability, isBeyond, tangent } = continuedTail(tail, coordinate, lowest);
  if (isBeyond) return { logProbability, support: 'beyond_extrapolation_limit', tangent };
  const isObserved = logProbability >= -Math.log(card.pair_count);
  return {
    logProbability,
    support: isObserved ? 'within_calibration_sample' : 'within_extrapolation_limit',
    tangent,
  };
}

/**
 * Returns the smallest ln P at which the tail of a bin is used as it was fitted. It is that of one pair of the bin's
 * sample, less the extrapolation factor.
 */
export function checkedLogProbability(card: BinCard, maximumLogExtrapolation: number): number {
  return -Math.log(card.pair_count) - maximumLogExtrapolation;
}

/** Interpolates ln P linearly between the points of the body. Below the first point P is 1. */
function bodyLogProbability(body: BinCard['body'], coordinate: number): number {
  if (body.length === 0 || coordinate <= body[0].score) return 0;
  let low = 0;
  let high = body.length - 1;
  if (coordinate >= body[high].score) return body[high].log_probability;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (body[middle].score <= coordinate) low = middle;
    else high = middle;
  }
  const share = (coordinate - body[low].score) / (body[high].score - body[low].score);
  return body[low].log_probability + share * (body[high].log_probability - body[low].log_probability);
}
