import type { Calibration, TailJudgement } from '../../significance/calibration.js';
import type { BinCard, BinStatus } from '../../significance/card.js';

/** Judgement of one candidate: the evidence against the null hypothesis that query and target are unrelated. */
export type CandidateSignificance =
  | { readonly kind: 'not_requested' }
  | { readonly kind: 'not_available'; readonly reason: 'no_qualified_calibration' }
  | UnsupportedSignificance
  | SupportedSignificance;

/** The calibration does not cover this pair. */
export interface UnsupportedSignificance {
  readonly kind: 'unsupported';
  readonly reason: UnsupportedReason;
  readonly calibration: CalibrationIdentity;
}

export type UnsupportedReason =
  | 'query_too_short'
  | 'query_too_long'
  | 'query_composition_not_calibrated'
  | 'target_too_short'
  | 'target_too_long'
  | 'no_affine_score'
  | Exclude<BinStatus, 'qualified'>;

/** Judgement of a candidate with a tail probability. */
export interface SupportedSignificance {
  readonly kind: 'supported';
  readonly calibration: CalibrationIdentity;
  readonly population: SearchedPopulation;
  /** Null pairs with similar lengths of query and target. */
  readonly bin: BinCard;
  /** Support of the tail by the sample; `beyond_extrapolation_limit` is an unchecked exponential. */
  readonly support: TailJudgement['support'];
  /** ln of the probability that one unrelated pair scores at least this well. */
  readonly logTailProbability: number;
  /** Bit score: −log2 of that probability without the level of the release, so that releases compare. */
  readonly bitScore: number;
  /** E-value: expected number of unrelated targets that score at least this well. */
  readonly eValue: number;
  /** Natural logarithm of the E-value, which does not underflow, and the least checked value of this bin's tail. */
  readonly logEValue: number;
  readonly logEValueMinimum: number;
  /** Probability that any unrelated target scores at least this well. */
  readonly familyWiseProbability: number;
  /** Bound on the false discovery rate among candidates with at least this evidence; the same for every limit. */
  readonly qValue: number;
  /** Probability that the pair is homologous; undefined where it was not asked for. */
  readonly homologyProbability?: number;
  /** Exponential through the tail at this score, without the level; undefined below the threshold of the tail. */
  readonly tangent: TailJudgement['tangent'];
}

/** Judgement of a further alignment of a pair, as if its stretches were whole proteins. */
export type AlignmentSignificance = Pick<SupportedSignificance, 'eValue' | 'logEValue' | 'bitScore'>;

/** Lengths of a stretch of the query and one of the target, and their mean closest cosine. */
export interface JudgedStretches {
  readonly queryLength: number;
  readonly targetLength: number;
  readonly meanClosestCosine: number;
}

/**
 * Judges a further alignment of a candidate by its score in its stretches. Without stretches it is judged by the values
 * of the whole pair. Returns undefined if the candidate has no E-value.
 */
export type JudgeAlignment = (
  targetIndex: number,
  rawScore: number,
  stretches?: JudgedStretches,
) => AlignmentSignificance | undefined;

/** Id and card of a calibration, without its large tables. */
export type CalibrationIdentity = Pick<Calibration, 'id' | 'card'>;

/** The searched targets, and how many of them can have a tail probability with the query. */
export interface SearchedPopulation {
  /** The target space or, unfiltered, the release. */
  readonly id: string;
  readonly targetCount: number;
  readonly residueCount: number;
  /** Number of targets that an E-value counts among, and its ln. */
  readonly count: number;
  readonly logCount: number;
  /** Number of the searched length strata. */
  readonly strataCount: number;
  /** False if some searched targets are not calibrated. The E-value counts no false hits among them. */
  readonly isComplete: boolean;
}

/**
 * Returns the E-value of a natural logarithm.
 * Range  0 to the number of counted targets, which exp(ln N) exceeds by rounding for some N
 */
export function eValueAmong({ count }: Pick<SearchedPopulation, 'count'>, logEValue: number): number {
  return Math.min(count, Math.exp(logEValue));
}

/** E-value of a candidate; undefined if its judgement has none. */
export function eValueOf({
  significance,
}: {
  readonly significance: CandidateSignificance;
}): number | undefined {
  return significance.kind === 'supported' ? significance.eValue : undefined;
}
