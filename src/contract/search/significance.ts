import { Type, type Static } from '@sinclair/typebox';
import { closed, count, enumeration, flag, named, quantity, ratio, text } from '../grammar/schema.js';

const SignificanceStatus = enumeration(
  {
    supported_empirical: 'the score lies within the sample of the calibration',
    supported_extrapolated: 'the score lies beyond the sample; the tail is extrapolated to it',
    upper_bound: 'no tail model covers the score; the numbers are upper bounds',
    unsupported: 'the calibration does not cover this pair',
    not_available: 'the release has no qualified calibration for this policy',
    not_requested: 'significance was not requested',
  },
  { chosen: true },
);

export const SignificanceReason = enumeration(
  {
    within_calibration_sample:
      'the score is at or above the threshold of the tail, within the observed null scores',
    below_tail_threshold:
      'the score is below the threshold of the tail; the empirical distribution gives the probability',
    within_extrapolation_limit: 'the score lies beyond the sample, within the checked extrapolation factor',
    beyond_extrapolation_limit:
      'the score lies beyond the checked extrapolation factor; an exponential continues the tail',
    query_too_short: 'the query is shorter than the calibrated queries',
    query_too_long: 'the query is longer than the calibrated queries',
    query_composition_not_calibrated:
      'the residue vectors of the query are more similar to each other than those of any calibrated query',
    target_too_short: 'the target is shorter than the calibrated targets',
    target_too_long: 'the target is longer than the calibrated targets',
    too_few_exceedances: 'the bin had too few null scores above its threshold',
    bin_not_qualified: 'the tail model of the bin failed its hold-out test',
    no_affine_score: 'the pair has no local alignment with a positive score',
    no_qualified_calibration: 'the release has no qualified calibration for this policy',
    not_requested: 'significance was not requested',
  },
  { chosen: true },
);

const optionalText = (description: string) => Type.Optional(text(description));
const optionalCount = (description: string) => Type.Optional(count(description));
const optionalQuantity = (description: string) => Type.Optional(quantity(description));
const optionalRatio = (description: string) => Type.Optional(ratio(description));

const TailModel = closed(
  {
    fit_exceedance_count: count('Number of null scores above the threshold to which the model was fitted.'),
    holdout_exceedance_count: count(
      'Number of null scores above the threshold from proteins that were held out of the fit.',
    ),
    holdout_kolmogorov_smirnov: ratio(
      'Kolmogorov–Smirnov distance of the model and the held-out null scores: an effect size.',
    ),
    holdout_significance_level: ratio(
      'P-value of that distance: probability of a distance at least this large if the model is true.',
    ),
    k: quantity('Prefactor of the tail probability k · e^(−λ · score): its value at score 0.'),
    lambda: quantity('Rate at which the tail falls. Unit: nats per score unit.'),
    threshold_score: quantity('Lowest score to which the tail model applies.'),
  },
  {
    description:
      'Peaks-over-threshold model of the null scores of the bin. `k` and `lambda` are those of the exponential that ' +
      'is tangent to the tail at the score, or at the last checked score if that is lower.',
  },
);

/** Every number of a significance judgement. Numbers that the status does not support are absent. */
export const SignificanceMeasurements = named(
  'SignificanceMeasurements',
  closed({
    calibration_id: optionalText('Content-derived id of the calibration.'),
    calibration_sample_count: optionalCount('Number of null pairs in the bin.'),
    is_family_wise_lower_bound: Type.Optional(
      flag('True when the family-wise probability is a lower bound.'),
    ),
    searched_residue_count: optionalCount('Number of residues of the eligible targets.'),
    searched_sequence_count: optionalCount('Number of eligible targets.'),
    support_status: optionalText(
      'Support of the tail probability: one of the values of `significance.status`.',
    ),
    bit_score: Type.Optional(
      quantity(
        '(λ · score − ln k) / ln 2, with λ and k of `tail_model`. It rises as the E-value falls, and is small ' +
          'for weak hits. With the null model of the encoder, equal pairs have equal bit scores in all databases, ' +
          'and `pair_tail_probability` is 2^(−bits) × the level of the database. With a null model of the release, ' +
          'it is 2^(−bits). Unit: bits.',
        { minimum: 0 },
      ),
    ),
    calibration_bin: optionalText('Name of the bin of query length and target length that judged the pair.'),
    e_value_calibration_id: optionalText('Id of the calibration that gave the E-value.'),
    e_value_conditioning_context_id: optionalText(
      'Id of the covariates on which the null distribution depends.',
    ),
    e_value_estimand: optionalText('Id of the estimated quantity.'),
    e_value_maximum_log_extrapolation_factor: optionalQuantity(
      'Largest checked extrapolation factor of the tail beyond its sample. Unit: natural logarithm. The factor of ' +
        'one candidate is `minimum_resolvable_probability` ÷ `pair_tail_probability`.',
    ),
    e_value_method: optionalText('Id of the method that estimated the tail.'),
    e_value_null_population_id: optionalText('Id of the population of pairs that count as unrelated.'),
    e_value_qualification_id: optionalText('Id of the hold-out test that qualified the calibration.'),
    e_value_search_policy_id: optionalText(
      'Id of the search policy with which the calibration was measured.',
    ),
    e_value_searched_inventory_id: optionalText('Id of the searched population: release or target space.'),
    e_value_supported_log_maximum: optionalQuantity('Largest supported natural logarithm of the E-value.'),
    e_value_supported_log_minimum: optionalQuantity(
      'Natural logarithm of the smallest E-value for which the tail was checked. Below it, an exponential ' +
        'continues the tail.',
    ),
    e_value_tail_coordinate: optionalText('Id of the score on which the tail is measured.'),
    e_value_target_stratum_count: optionalCount(
      'Number of target length strata over which the expected number is summed.',
    ),
    expected_false_hits: Type.Optional(
      quantity('E-value: expected number of unrelated targets that score at least this well.', {
        minimum: 0,
      }),
    ),
    family_wise_exceedance_probability: optionalRatio(
      'Probability that any unrelated target scores at least this well.',
    ),
    is_e_value_upper_bound: Type.Optional(flag('True when the true E-value may be smaller.')),
    log_expected_false_hits: optionalQuantity('Natural logarithm of the E-value; it does not underflow.'),
    minimum_resolvable_probability: optionalRatio('Smallest tail probability that the sample resolves.'),
    pair_tail_log_probability: Type.Optional(
      quantity('Natural logarithm of the tail probability of one pair.', { maximum: 0 }),
    ),
    pair_tail_probability: optionalRatio('Probability that one unrelated pair scores at least this well.'),
    pair_tail_surprisal_bits: Type.Optional(
      quantity('−log₂ of the tail probability of one pair.', { minimum: 0 }),
    ),
    q_value: optionalRatio(
      'Upper bound on the share of false hits among the candidates with at least this evidence. The ratio of a ' +
        'candidate is its E-value ÷ the number of candidates that rank at least as high and have no larger E-value. ' +
        'The q-value is the largest ratio of these candidates. It never falls as E-values rise, and does not depend ' +
        'on `limit`. It uses E-values that count the searched targets, even if the request has a `database_size`.',
    ),
    homology_probability: optionalRatio(
      'Probability that query and target are homologs (of one superfamily). It is computed from the E-value among ' +
        'the searched targets and from the share of homologs among labelled domains. Present if the request has ' +
        '`probability` and the encoder has a table.',
    ),
    tail_model: Type.Optional(TailModel),
  }),
);

/** Significance of one candidate. */
export const Significance = named(
  'Significance',
  closed({ status: SignificanceStatus, reason: SignificanceReason, measurements: SignificanceMeasurements }),
);

export type Significance = Static<typeof Significance>;
export type SignificanceMeasurements = Static<typeof SignificanceMeasurements>;
