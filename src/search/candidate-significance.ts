import type { Calibration, TailJudgement } from '../significance/calibration.js';
import type { BinCard, BinStatus } from '../significance/card.js';

/** Judgement of one candidate: how surprising it would be if query and target were unrelated. */
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

/** A candidate with a tail probability, and what follows from it for the searched targets. */
export interface SupportedSignificance {
  readonly kind: 'supported';
  readonly calibration: CalibrationIdentity;
  readonly population: SearchedPopulation;
  /** Lengths of query and target, which the null pairs share. */
  readonly bin: BinCard;
  /** How far the sample backs the tail; `beyond_extrapolation_limit` is an exponential that nothing has checked. */
  readonly support: TailJudgement['support'];
  /** ln of the chance that one unrelated pair scores at least this well. */
  readonly logTailProbability: number;
  /** E-value: expected number of unrelated targets that score at least this well. */
  readonly eValue: number;
  /** Its natural logarithm, which does not underflow, and the least at which this bin's tail was checked. */
  readonly logEValue: number;
  readonly logEValueMinimum: number;
  /** Chance that any unrelated target scores this well. */
  readonly familyWiseProbability: number;
  /** Bound on the false discovery rate among candidates with at least this evidence; the same for every limit. */
  readonly qValue: number;
  /** The exponential that gives this probability at this score; undefined below the threshold of the tail. */
  readonly tangent: TailJudgement['tangent'];
}

/** A calibration as its judgements keep it: without its tables, which may be large. */
export type CalibrationIdentity = Pick<Calibration, 'id' | 'card'>;

/** The searched targets, and those of them that can have a tail probability with the query. */
export interface SearchedPopulation {
  /** The target space or, unfiltered, the release. */
  readonly id: string;
  readonly targetCount: number;
  readonly residueCount: number;
  /** ln of the targets that false hits are expected among, and the length strata that they are in. */
  readonly logCount: number;
  readonly strataCount: number;
  /** False where some searched targets lie outside: a false hit among them has no E-value and is not counted. */
  readonly isComplete: boolean;
}

/** The candidate's E-value; undefined where its judgement has none. */
export function eValueOf({
  significance,
}: {
  readonly significance: CandidateSignificance;
}): number | undefined {
  return significance.kind === 'supported' ? significance.eValue : undefined;
}
