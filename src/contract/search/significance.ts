import { Type, type Static } from '@sinclair/typebox';
import { closed, count, enumeration, flag, named, quantity, ratio, text } from '../grammar/schema.js';

const SignificanceStatus = enumeration(
  {
    supported_empirical: 'the score lies within the sample of the calibration',
    supported_extrapolated: 'the score lies beyond the sample; the tail was extrapolated to it',
    upper_bound: 'no tail model reaches the score; the numbers are upper bounds',
    unsupported: 'the calibration does not cover this pair',
    not_available: 'the release has no qualified calibration for this policy',
    not_requested: 'significance was not asked for',
  },
  { chosen: true },
);

export const SignificanceReason = enumeration(
  {
    within_calibration_sample: 'at or above the threshold, within the observed null scores',
    below_tail_threshold: 'below the threshold of the tail; the empirical distribution answers',
    within_extrapolation_limit: 'beyond the sample by less than the qualified factor',
    beyond_extrapolation_limit: 'beyond the qualified factor; the tail goes on as an exponential',
    query_too_short: 'shorter than the calibrated queries',
    query_too_long: 'longer than the calibrated queries',
    query_composition_not_calibrated: 'its residues are more alike than those of any calibrated query',
    target_too_short: 'shorter than the calibrated targets',
    target_too_long: 'longer than the calibrated targets',
    too_few_exceedances: 'the bin had too few null scores above its threshold',
    bin_not_qualified: 'the tail model of the bin failed its hold-out test',
    no_affine_score: 'the pair has no positive local alignment to judge',
    no_qualified_calibration: 'the release has no qualified calibration for this policy',
    not_requested: 'significance was not asked for',
  },
  { chosen: true },
);

const optionalText = (description: string) => Type.Optional(text(description));
const optionalCount = (description: string) => Type.Optional(count(description));
const optionalQuantity = (description: string) => Type.Optional(quantity(description));
const optionalRatio = (description: string) => Type.Optional(ratio(description));

const TailModel = closed(
  {
    fit_exceedance_count: count('Null scores above the threshold that the model was fitted to.'),
    holdout_exceedance_count: count('Null scores above the threshold of proteins kept out of the fit.'),
    holdout_kolmogorov_smirnov: ratio('Largest distance of model and held-out null scores: an effect size.'),
    holdout_significance_level: ratio('Chance of a distance that large if the model were true.'),
    k: quantity('Prefactor of the expected number of false hits: the tail probability at score 0.'),
    lambda: quantity('Rate at which the tail falls. Unit: nats per score unit.'),
    threshold_score: quantity('Score from which on the tail model holds.'),
  },
  { description: 'Peaks-over-threshold model of the null scores of the bin.' },
);

/** Every number of a significance judgement. Numbers that the status does not support are absent. */
export const SignificanceMeasurements = named(
  'SignificanceMeasurements',
  closed({
    calibration_id: optionalText('Content-derived id of the calibration.'),
    calibration_sample_count: optionalCount('Null pairs in the bin.'),
    is_family_wise_lower_bound: Type.Optional(
      flag('True when the family-wise probability is a lower bound.'),
    ),
    searched_residue_count: optionalCount('Residues of the eligible targets.'),
    searched_sequence_count: optionalCount('Eligible targets.'),
    support_status: optionalText(
      'Support of the tail probability: one of the values of `significance.status`.',
    ),
    bit_score: Type.Optional(
      quantity(
        '(λ · score − ln k) / ln 2 of `tail_model`: it rises as the E-value falls, and is small for weak hits. If ' +
          'the null is that of the encoder, equal pairs have equal bit scores in all databases, and ' +
          '`pair_tail_probability` is 2^(−bits) × the level of the database; otherwise it is 2^(−bits). Unit: bits.',
        { minimum: 0 },
      ),
    ),
    calibration_bin: optionalText('Bin of query length and target stratum that judged the pair.'),
    e_value_calibration_id: optionalText('Calibration behind the expected number of false hits.'),
    e_value_conditioning_context_id: optionalText('What the null distribution is conditioned on.'),
    e_value_estimand: optionalText('What exactly is estimated.'),
    e_value_maximum_log_extrapolation_factor: optionalQuantity(
      'How far beyond its sample the tail was checked. Unit: natural logarithm. The factor of one candidate is ' +
        '`minimum_resolvable_probability` ÷ `pair_tail_probability`.',
    ),
    e_value_method: optionalText('How the tail was estimated.'),
    e_value_null_population_id: optionalText('Which pairs count as unrelated.'),
    e_value_qualification_id: optionalText('The hold-out test that qualified the calibration.'),
    e_value_search_policy_id: optionalText('Policy that the calibration was measured under.'),
    e_value_searched_inventory_id: optionalText('The searched population: release or target space.'),
    e_value_supported_log_maximum: optionalQuantity('Largest supported natural logarithm of the E-value.'),
    e_value_supported_log_minimum: optionalQuantity(
      'Natural logarithm of the E-value down to which the tail was checked; below it goes on as an exponential.',
    ),
    e_value_tail_coordinate: optionalText('The score that the tail is measured on.'),
    e_value_target_stratum_count: optionalCount('Target length strata that the expectation sums over.'),
    expected_false_hits: Type.Optional(
      quantity('E-value: expected number of unrelated targets that score at least this well.', {
        minimum: 0,
      }),
    ),
    family_wise_exceedance_probability: optionalRatio('Chance that any unrelated target scores this well.'),
    is_e_value_upper_bound: Type.Optional(flag('True when the true E-value may be smaller.')),
    log_expected_false_hits: optionalQuantity('Natural logarithm of the E-value; it does not underflow.'),
    minimum_resolvable_probability: optionalRatio('Smallest tail probability that the sample resolves.'),
    pair_tail_log_probability: Type.Optional(
      quantity('Natural logarithm of the tail probability of one pair.', { maximum: 0 }),
    ),
    pair_tail_probability: optionalRatio('Chance that one unrelated pair scores at least this well.'),
    pair_tail_surprisal_bits: Type.Optional(
      quantity('−log₂ of the tail probability of one pair.', { minimum: 0 }),
    ),
    q_value: optionalRatio(
      'Upper bound on the share of false entries among the candidates with at least this evidence: E-value ÷ ' +
        'candidates ranked no lower with an E-value no greater, and no less than that of any of these. It never ' +
        'falls as E-values rise, and does not depend on `limit`. Its E-values count the searched targets, also where ' +
        'a `database_size` was given.',
    ),
    homology_probability: optionalRatio(
      'Probability that query and target are homologs (of one superfamily), by the E-value among the searched ' +
        'targets and the share of homologs among labelled domains. Present where the request asked for it.',
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
