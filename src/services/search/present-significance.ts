import type { Significance, SignificanceMeasurements } from '../../contract/search/significance.js';
import type {
  CandidateSignificance,
  SupportedSignificance,
  UnsupportedSignificance,
} from '../../search/pairs/candidate-significance.js';

/* Presents significance in its contract form. No other file knows both forms. */

type Status = Significance['status'];

const STATUS_OF: Readonly<Record<SupportedSignificance['support'], Status>> = {
  below_tail_threshold: 'supported_empirical',
  within_calibration_sample: 'supported_empirical',
  within_extrapolation_limit: 'supported_extrapolated',
  beyond_extrapolation_limit: 'supported_extrapolated',
};

function significanceStatus(significance: CandidateSignificance): Status {
  return significance.kind === 'supported' ? STATUS_OF[significance.support] : significance.kind;
}

export function presentSignificance(significance: CandidateSignificance): Significance {
  const status = significanceStatus(significance);
  switch (significance.kind) {
    case 'supported':
      return { status, reason: significance.support, measurements: presentSupported(significance, status) };
    case 'unsupported':
      return { status, reason: significance.reason, measurements: presentUnsupported(significance) };
    case 'not_available':
      return { status, reason: significance.reason, measurements: {} };
    case 'not_requested':
      return { status, reason: 'not_requested', measurements: {} };
  }
}

/** Measurements that only some judgements have: below its threshold there is no tail model. */
type OptionalMeasurement = 'homology_probability' | 'tail_model';

/** Every measurement of the contract, so that a missing one does not compile. */
type SupportedMeasurements = Required<Omit<SignificanceMeasurements, OptionalMeasurement>> &
  Pick<SignificanceMeasurements, OptionalMeasurement>;

/** Cost  one object of one shape for each candidate, its members written in place */
function presentSupported(significance: SupportedSignificance, status: Status): SupportedMeasurements {
  const { bin, population, logTailProbability } = significance;
  // 0 − x avoids −0 for a certain pair.
  const bits = 0 - logTailProbability / Math.LN2;
  const { id, card } = significance.calibration;
  const measurements: SupportedMeasurements = {
    calibration_id: id,
    calibration_sample_count: bin.pair_count,
    is_family_wise_lower_bound: !population.isComplete,
    searched_residue_count: population.residueCount,
    searched_sequence_count: population.targetCount,
    support_status: status,
    bit_score: significance.bitScore,
    calibration_bin: bin.name,
    e_value_calibration_id: id,
    e_value_conditioning_context_id: card.conditioning_context_id,
    e_value_estimand: card.estimand_id,
    e_value_maximum_log_extrapolation_factor: card.maximum_log_extrapolation_factor,
    e_value_method: card.method_id,
    e_value_null_population_id: card.null_population_id,
    e_value_qualification_id: card.qualification_id,
    e_value_search_policy_id: card.policy_id,
    e_value_searched_inventory_id: population.id,
    e_value_supported_log_maximum: population.logCount,
    e_value_supported_log_minimum: significance.logEValueMinimum,
    e_value_tail_coordinate: card.tail_coordinate_id,
    e_value_target_stratum_count: population.strataCount,
    expected_false_hits: significance.eValue,
    family_wise_exceedance_probability: significance.familyWiseProbability,
    is_e_value_upper_bound: false,
    log_expected_false_hits: significance.logEValue,
    minimum_resolvable_probability: 1 / bin.pair_count,
    pair_tail_log_probability: logTailProbability,
    pair_tail_probability: Math.exp(logTailProbability),
    pair_tail_surprisal_bits: bits,
    q_value: significance.qValue,
  };
  const { homologyProbability } = significance;
  if (homologyProbability !== undefined) measurements.homology_probability = homologyProbability;
  const tailModel = presentTailModel(significance);
  if (tailModel !== undefined) measurements.tail_model = tailModel;
  return measurements;
}

function presentTailModel({ bin, tangent }: SupportedSignificance): SignificanceMeasurements['tail_model'] {
  if (tangent === undefined) return undefined;
  return {
    fit_exceedance_count: bin.fit_exceedance_count,
    holdout_exceedance_count: bin.holdout_exceedance_count,
    holdout_kolmogorov_smirnov: bin.holdout_kolmogorov_smirnov,
    holdout_significance_level: bin.holdout_significance_level,
    k: Math.exp(tangent.logK),
    lambda: tangent.lambda,
    threshold_score: bin.tail.threshold,
  };
}

/** Without a tail probability: the members that still name the calibration. */
type UnsupportedMeasurements = Required<
  Pick<
    SignificanceMeasurements,
    | 'calibration_id'
    | 'e_value_calibration_id'
    | 'e_value_conditioning_context_id'
    | 'e_value_estimand'
    | 'e_value_maximum_log_extrapolation_factor'
    | 'e_value_method'
    | 'e_value_null_population_id'
    | 'e_value_qualification_id'
    | 'e_value_search_policy_id'
    | 'e_value_tail_coordinate'
    | 'support_status'
  >
>;

function presentUnsupported({ calibration, kind }: UnsupportedSignificance): UnsupportedMeasurements {
  const { id, card } = calibration;
  return {
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
    support_status: kind,
  };
}
