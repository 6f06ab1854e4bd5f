import type { BinCard, CalibrationCard } from './card.js';
import type { MomentTable } from './moments.js';
import type { PairNull } from './pair-null.js';
import type { HubnessModel, ProteinHubness } from './hubness.js';
import { continuedTail, type TailModel } from './tail-model.js';

/** The qualified empirical null of one release and policy, opened for judging. */
export interface Calibration {
  /** `calib_…` */
  readonly id: string;
  readonly card: CalibrationCard;
  readonly pairNull: PairNull;
  /** [query stratum][target stratum] */
  readonly bins: readonly (readonly Bin[])[];
  /** One row per target of the release. */
  readonly moments: MomentTable;
  readonly hubness: HubnessModel;
  /** General closeness of each target of the release, and what it leans to. */
  readonly hubnesses: (target: number) => ProteinHubness;
  /** Targets that a query's bias is measured on, ascending. */
  readonly referenceSet: Uint32Array;
}

export interface Bin {
  readonly card: BinCard;
  readonly tail: TailModel;
}

/** How far a probability is backed by the sample; names are those of the contract. */
export type TailSupport =
  | 'within_calibration_sample'
  | 'below_tail_threshold'
  | 'within_extrapolation_limit'
  | 'beyond_extrapolation_limit';

export interface TailJudgement {
  readonly logProbability: number;
  readonly support: TailSupport;
  /** The exponential that gives this probability at this score; absent below the threshold. */
  readonly tangent?: { readonly lambda: number; readonly logK: number };
}

/** A calibration in which at least one bin may be used. */
export function isQualified(card: CalibrationCard): boolean {
  return card.bins.some(({ status }) => status === 'qualified');
}

/** Length stratum of a protein, by the edges of the card. */
export function stratumOf(length: number, edges: readonly number[]): number {
  let stratum = 0;
  while (stratum < edges.length && length >= edges[stratum]) stratum += 1;
  return stratum;
}

/**
 * ln P that an unrelated pair of this bin reaches the coordinate.
 * Range   strictly falling above the threshold, without a floor: beyond the qualified factor the tail goes on as an
 *         exponential, and says so
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

/** Smallest ln P that a bin's tail was checked at: one pair of its sample, and the qualified factor beyond that. */
export function checkedLogProbability(card: BinCard, maximumLogExtrapolation: number): number {
  return -Math.log(card.pair_count) - maximumLogExtrapolation;
}

/** Linear interpolation of ln P between the points of the body; certain below the first. */
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
