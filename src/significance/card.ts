import { valueId } from '../ids.js';

/* The card of a calibration, stored as `card.json` beside the release. Member names are those on disk. */

/** Whether a bin gives probabilities, and if not, why. The names are those of the contract's reasons. */
export type BinStatus = 'qualified' | 'too_few_exceedances' | 'bin_not_qualified';

/** Null distribution of the pairs whose two lengths lie in one pair of length strata. Scores are tail coordinates. */
export interface BinCard {
  readonly name: string;
  readonly query_stratum: number;
  readonly target_stratum: number;
  readonly status: BinStatus;
  readonly pair_count: number;
  readonly fit_exceedance_count: number;
  readonly holdout_exceedance_count: number;
  /** Effective sample size of the held-out exceedances. Exceedances that share a protein are not independent. */
  readonly holdout_independent_count: number;
  readonly holdout_kolmogorov_smirnov: number;
  readonly holdout_significance_level: number;
  /** Largest tail coordinate that the fit used. Pairs above it may be homologs. */
  readonly ceiling: number;
  /** Share of the exceedances below the ceiling that the mixture model assigns to undetected homologs. Range: 0..1 */
  readonly relative_share: number;
  readonly tail: {
    readonly threshold: number;
    readonly log_exceedance_probability: number;
    readonly lambda: number;
    readonly shape: number;
  };
  /** Empirical distribution below the tail: points of ln P(score ≥ x) by ascending x, up to the threshold. */
  readonly body: readonly { readonly score: number; readonly log_probability: number }[];
  /** ln of the share of the bin's pairs at or above a score. These pairs include undetected homologs. */
  readonly observed: readonly { readonly score: number; readonly log_probability: number }[];
  /** Largest score of the bin's pairs. */
  readonly largest_score: number;
}

export interface ScaleCard {
  readonly centre: number;
  readonly spread: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Observed and expected counts of a population that was not used in the fit. */
export interface PopulationCard {
  readonly id: string;
  readonly pair_count: number;
  readonly ratios: readonly {
    readonly probability: number;
    readonly expected: number;
    readonly observed: number;
  }[];
}

export interface FileCard {
  readonly path: string;
  readonly size_bytes: number;
  readonly sha256: string;
}

/**
 * The calibration as a value. Its id (`calib_…`) is the canonical SHA-256 of this card. The card names the digests of
 * its two Arrow files, so that the id determines every number. No member depends on the time or the machine.
 */
export interface CalibrationCard {
  readonly format: CardFormat;
  readonly release_id: string;
  readonly policy_id: string;
  readonly seed: number;
  readonly null_population_id: string;
  readonly tail_coordinate_id: string;
  readonly conditioning_context_id: string;
  readonly method_id: string;
  readonly estimand_id: string;
  readonly qualification_id: string;
  readonly maximum_log_extrapolation_factor: number;
  readonly sample: {
    readonly protein_count: number;
    readonly pair_count: number;
    /** Pairs left out because a chain of links connects the two proteins. */
    readonly connected_pair_count: number;
    readonly link_count: number;
    readonly link_log_probability: number;
    readonly largest_component: number;
  };
  readonly supported: {
    readonly query_minimum_residues: number;
    readonly query_maximum_residues: number;
    readonly target_minimum_residues: number;
    readonly target_maximum_residues: number;
    /** Largest concentration (moments.ts) in the sample. Queries above it are outside the sample's compositions. */
    readonly maximum_concentration: number;
  };
  /** Lower ends of the length strata after the first, in residues. */
  readonly stratum_edges: readonly number[];
  readonly pair_null: {
    readonly log_shorter: ScaleCard;
    readonly log_longer: ScaleCard;
    readonly mean_cosine: ScaleCard;
    readonly cosine_spread: ScaleCard;
    readonly bias: ScaleCard;
    readonly weights: readonly number[];
    readonly scale: number;
    readonly length_slope: number;
    readonly mean_slope: number;
    readonly spread_slope: number;
    /** `slowerShare` of the rate model (pair-null.ts). Range: 0..1; 1 where an older card lacks it. */
    readonly slower_share?: number;
    /** `shortFactor` of the rate model. Range: 1..; 1 where an older card lacks it. */
    readonly short_factor?: number;
    readonly score_per_cosine: number;
    /** `cysteines` of the null (pair-null.ts). Range: 0..; 0 where an older card lacks it. */
    readonly cysteine_weight?: number;
    /** Range: 0..1; USUAL_CYSTEINE_SHARE where an older card lacks it. */
    readonly usual_cysteine_share?: number;
    /** Present if the release has profiles. */
    readonly profiles?: {
      readonly log_mean: ScaleCard;
      readonly log_spread: ScaleCard;
      readonly log_effective: ScaleCard;
      readonly mean_slope: number;
      readonly spread_slope: number;
      readonly effective_slope: number;
      readonly leanings: readonly ScaleCard[];
      readonly leaning_slopes: readonly number[];
      /** Weight of the profile score in the evidence of a pair (pair-null.ts); 0 where an older card lacks it. */
      readonly score_weight?: number;
    };
    /** Promiscuity (moment-weights.ts), scale and slope of a pair; absent from small samples and earlier formats. */
    readonly promiscuity?: ScaleCard & {
      readonly slope: number;
      readonly mean_weights: readonly number[];
      readonly sketch_weights: readonly number[];
    };
    /** Class bias (moment-weights.ts); absent from nulls that were fitted to a release, and from earlier formats. */
    readonly class_bias?: {
      readonly mean_weights: readonly number[];
      readonly sketch_weights: readonly number[];
      readonly offset: number;
      readonly smallest: number;
      readonly largest: number;
    };
    /** How like compositions lower the coordinate (composition.ts); absent as in `composition` of pair-null.ts. */
    readonly composition?: { readonly weight: number; readonly usual_gain: number };
    /** How membrane helices move the coordinate (membrane.ts); absent as in `composition` of pair-null.ts. */
    readonly membrane?: {
      readonly common_weight: number;
      readonly own_weight: number;
      readonly full_share: number;
    };
    /** How repeats lower the coordinate (repeats.ts); absent from nulls of a release, and from earlier formats. */
    readonly repeats?: {
      readonly weight: number;
      readonly usual_share: number;
      readonly largest_share: number;
    };
  };
  /** The hubness model (hubness.ts) and its reference set. */
  readonly bias: {
    readonly weights: readonly number[];
    readonly minimum: number;
    readonly maximum: number;
    /** Reference set, as ascending target indices. */
    readonly panel: readonly number[];
    /** Hubness components; present if the release has profiles. */
    readonly leanings?: {
      readonly centres: readonly number[];
      readonly directions: readonly (readonly number[])[];
    };
  };
  readonly bins: readonly BinCard[];
  readonly populations: readonly PopulationCard[];
  /** Present if the null is the encoder's reference null (reference-null.ts) and only its level is of this release. */
  readonly reference?: ReferenceUseCard;
  /** Rejected alternatives. Only cards of earlier versions have this member. */
  readonly tried?: readonly string[];
  readonly moments: { readonly dimension: number; readonly rank: number };
  /** `reference`: proteins of the reference set; absent if they are targets of the release. */
  readonly files: { readonly targets: FileCard; readonly basis: FileCard; readonly reference?: FileCard };
}

/** How a release uses the reference null of its encoder. Logarithms are natural. */
export interface ReferenceUseCard {
  /** `null_…` */
  readonly id: string;
  /** Quantisation of the reference set's tokens and profiles. */
  readonly form: { readonly inverse_step: number; readonly profile_scale?: number };
  /** ln of the factor on the tail probability of every pair, from pairs of the release. */
  readonly log_level: number;
  /** Standard error of `log_level`. Without a hold-out it is the spread of levels over small samples. */
  readonly log_level_error: number;
  /** Pairs of the release that gave the level, and those that judged the fit. */
  readonly level: ExceedanceCard;
  readonly holdout: ExceedanceCard & {
    readonly status: HoldoutStatus;
    /** Kolmogorov–Smirnov distance of the exceedances to the reference tail. Range: 0..1 */
    readonly kolmogorov_smirnov: number;
    readonly independent_count: number;
  };
}

/** `too_few` pairs for a test; `contradicted` releases use their own fit and never have such a card. */
export type HoldoutStatus = 'confirmed' | 'too_few';

export interface ExceedanceCard {
  readonly pair_count: number;
  /** Pairs between the threshold of their bin and CHANCE_COORDINATE. */
  readonly exceedance_count: number;
  /** The same number according to the reference, without level. */
  readonly expected_count: number;
}

/** Format of cards of own nulls. */
export const CARD_FORMAT = 'gloaming-calibration/13';
/** Format of cards made without reversed-query controls (control.ts). Their releases are judged without controls. */
export const UNCONTROLLED_FORMAT = 'gloaming-calibration/3';
/** Format for releases with profiles, whose null also depends on profile moments and the profile score of a pair. */
export const PROFILED_FORMAT = 'gloaming-calibration/16';
/** Format of cards whose null is the reference of the encoder, with or without profiles. */
export const REFERENCE_FORMAT = 'gloaming-calibration/21';
/**
 * Earlier formats that are still used. They lack promiscuity (4, 6, 7), the profile score (9), cysteines (8, 10, 11,
 * 12), a usual share of cysteines (14, 15), class bias (17), repeats (18), composition (19) or membrane helices (20).
 */
const EARLIER_FORMATS = [
  'gloaming-calibration/4',
  'gloaming-calibration/6',
  'gloaming-calibration/7',
  'gloaming-calibration/8',
  'gloaming-calibration/9',
  'gloaming-calibration/10',
  'gloaming-calibration/11',
  'gloaming-calibration/12',
  'gloaming-calibration/14',
  'gloaming-calibration/15',
  'gloaming-calibration/17',
  'gloaming-calibration/18',
  'gloaming-calibration/19',
  'gloaming-calibration/20',
] as const;
export type CardFormat =
  | typeof CARD_FORMAT
  | typeof UNCONTROLLED_FORMAT
  | typeof PROFILED_FORMAT
  | typeof REFERENCE_FORMAT
  | (typeof EARLIER_FORMATS)[number];
export const CARD_FORMATS: readonly string[] = [
  UNCONTROLLED_FORMAT,
  ...EARLIER_FORMATS,
  CARD_FORMAT,
  PROFILED_FORMAT,
  REFERENCE_FORMAT,
];
/** Formats of null models that are no longer used. Releases with such a card count as not calibrated. */
export const SUPERSEDED_FORMATS: readonly string[] = [1, 2, 5].map(
  (format) => `gloaming-calibration/${format}`,
);

export const CARD_FILE = 'card.json';
export const TARGETS_FILE = 'targets.arrow';
export const BASIS_FILE = 'basis.arrow';
export const REFERENCE_FILE = 'reference.arrow';

/** The fitted tail is used down to a thousandth of the probability of one pair of the sample. */
export const MAXIMUM_LOG_EXTRAPOLATION = Math.log(1000);

/** Identifiers of the method of this version. A change of meaning needs a new identifier. */
export const NULL_POPULATION_ID = 'unconnected_release_pairs/1';
export const TAIL_COORDINATE_ID = 'affine_and_closeness_excess/6';
export const METHOD_ID = 'peaks_over_threshold/1';
export const ESTIMAND_ID = 'unrelated_targets_with_smaller_tail_probability/1';
export const QUALIFICATION_ID = 'protein_holdout_kolmogorov_smirnov/2';
/** The same of a calibration by the encoder's reference null. */
export const REFERENCE_POPULATION_ID = 'encoder_reference_pairs/1';
export const REFERENCE_METHOD_ID = 'reference_tail_with_release_level/1';
export const REFERENCE_QUALIFICATION_ID = 'release_holdout_against_reference/1';

/** Returns the identifier of the covariates on which a null depends. */
export function conditioningContextId({
  profiles,
  composition,
  membrane,
  promiscuity,
  class_bias: classBias,
  repeats,
  cysteine_weight: cysteineWeight = 0,
}: Pick<
  CalibrationCard['pair_null'],
  'profiles' | 'composition' | 'membrane' | 'promiscuity' | 'class_bias' | 'repeats' | 'cysteine_weight'
>): string {
  const withProfiles = profiles === undefined ? '' : 'profiles_';
  if (cysteineWeight > 0) {
    const terms = { promiscuity, classes: classBias, composition, membrane };
    const named = Object.entries(terms).flatMap(([name, term]) => (term === undefined ? [] : [`${name}_`]));
    const withRepeats = repeats === undefined ? 'and_cysteines' : 'cysteines_and_repeats';
    return `lengths_moments_${withProfiles}biases_${named.join('')}${withRepeats}/1`;
  }
  return promiscuity === undefined
    ? `lengths_moments_${withProfiles}and_biases/2`
    : `lengths_moments_${withProfiles}biases_and_promiscuity/1`;
}

export function calibrationId(card: CalibrationCard): string {
  return valueId('calib', card);
}

/** Returns the folder of a release's calibration. It lies beside the release, whose own bytes never change. */
export function calibrationDirectory(releaseDirectory: string): string {
  return `${releaseDirectory}.calibration`;
}
