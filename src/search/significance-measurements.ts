import {
  logProbabilityFloor,
  type Bin,
  type Calibration,
  type TailJudgement,
} from '../calibration/calibration.js';
import { familyWiseProbability } from '../calibration/false-discovery.js';
import type { TargetSpace } from '../release/release.js';
import type { CandidateSignificance } from './search-types.js';

/* A judgement in the fields of the contract (contract/search/significance.ts), under their names there. */

/** The tail of one candidate, in the bin that judged it. */
export interface BinnedTail extends TailJudgement {
  readonly bin: Bin;
  readonly coordinate: number;
}

/** The searched targets that can have a tail probability with this query; false hits are expected among them. */
export interface Population {
  readonly logCount: number;
  readonly strataCount: number;
  /** False where some searched targets lie outside: a false hit among them has no E-value and is not counted. */
  readonly isComplete: boolean;
}

const STATUS_OF: Readonly<Record<TailJudgement['support'], string>> = {
  below_tail_threshold: 'supported_empirical',
  within_calibration_sample: 'supported_empirical',
  within_extrapolation_limit: 'supported_extrapolated',
  beyond_extrapolation_limit: 'upper_bound',
};

/**
 * Everything that a supported tail says of a candidate.
 * Cost  one object of one shape: spreading parts into it would take longer than the rest of the judgement
 */
export function describeTail(
  tail: BinnedTail,
  logExpected: number,
  qValue: number,
  population: Population,
  targetSpace: TargetSpace,
  { id, card }: Calibration,
): CandidateSignificance {
  const { bin, tangent, coordinate, logProbability } = tail;
  const status = STATUS_OF[tail.support];
  const extrapolation = card.maximum_log_extrapolation_factor;
  const measurements: Record<string, unknown> = {
    calibration_id: id,
    calibration_sample_count: bin.card.pair_count,
    is_family_wise_lower_bound: !population.isComplete,
    searched_residue_count: targetSpace.searchedResidueCount,
    searched_sequence_count: targetSpace.searchedTargetCount,
    support_status: status,
    calibration_bin: bin.card.name,
    e_value_calibration_id: id,
    e_value_conditioning_context_id: card.conditioning_context_id,
    e_value_estimand: card.estimand_id,
    e_value_maximum_log_extrapolation_factor: extrapolation,
    e_value_method: card.method_id,
    e_value_null_population_id: card.null_population_id,
    e_value_qualification_id: card.qualification_id,
    e_value_search_policy_id: card.policy_id,
    e_value_searched_inventory_id: targetSpace.id ?? targetSpace.releaseId,
    e_value_supported_log_maximum: population.logCount,
    e_value_supported_log_minimum: population.logCount + logProbabilityFloor(bin.card, extrapolation),
    e_value_tail_coordinate: card.tail_coordinate_id,
    e_value_target_stratum_count: population.strataCount,
    expected_false_hits: Math.exp(logExpected),
    family_wise_exceedance_probability: familyWiseProbability(logExpected),
    is_e_value_upper_bound: tail.support === 'beyond_extrapolation_limit',
    log_expected_false_hits: logExpected,
    minimum_resolvable_probability: 1 / bin.card.pair_count,
    pair_tail_log_probability: logProbability,
    pair_tail_probability: Math.exp(logProbability),
    pair_tail_surprisal_bits: -logProbability / Math.LN2,
    q_value: qValue,
  };
  if (tangent !== undefined) {
    measurements.bit_score = (tangent.lambda * coordinate - tangent.logK) / Math.LN2;
    measurements.tail_model = tailModel(bin, tangent);
  }
  return { status, reason: tail.support, measurements };
}

function tailModel({ card }: Bin, tangent: NonNullable<TailJudgement['tangent']>): Record<string, number> {
  return {
    fit_exceedance_count: card.fit_exceedance_count,
    holdout_exceedance_count: card.holdout_exceedance_count,
    holdout_kolmogorov_smirnov: card.holdout_kolmogorov_smirnov,
    holdout_significance_level: card.holdout_significance_level,
    k: Math.exp(tangent.logK),
    lambda: tangent.lambda,
    threshold_score: card.tail.threshold,
  };
}

/** A candidate without a tail probability, and why. */
export function describeUnsupported(reason: string, { id, card }: Calibration): CandidateSignificance {
  return {
    status: 'unsupported',
    reason,
    measurements: {
      calibration_id: id,
      e_value_calibration_id: id,
      e_value_conditioning_context_id: card.conditioning_context_id,
      e_value_estimand: card.estimand_id,
      e_value_maximum_log_extrapolation_factor: card.maximum_log_extrapolation_factor,
      e_value_method: card.method_id,
      e_value_null_population_id: card.null_population_id,
      e_value_qualification_id: card.qualification_id,
      e_value_search_policy_id: card.policy_id,
      e_value_tail_coordinate: card.tail_coordinate_id,
      support_status: 'unsupported',
    },
  };
}
