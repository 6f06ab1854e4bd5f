import { valueId } from '../ids.js';

/* What a calibration says of itself, as `card.json` beside the release; wire names as on disk. */

/** Why a bin gives no probabilities; names are those of the contract's reasons. */
export type BinStatus = 'qualified' | 'too_few_exceedances' | 'bin_not_qualified';

/** Null scores of pairs whose query and target lengths lie in the bin; minima are inclusive, maxima exclusive. */
export interface BinCard {
  readonly name: string;
  readonly query_stratum: number;
  readonly target_stratum: number;
  readonly status: BinStatus;
  readonly pair_count: number;
  readonly fit_exceedance_count: number;
  readonly holdout_exceedance_count: number;
  /** As many independent pairs would scatter like them: exceedances that share a protein do not. */
  readonly holdout_independent_count: number;
  readonly holdout_kolmogorov_smirnov: number;
  readonly holdout_significance_level: number;
  /** Above it scores were not fitted: what is left there may be homologous. */
  readonly ceiling: number;
  /** Share of exceedances below the ceiling that the mixture holds for relatives nothing has revealed. */
  readonly relative_share: number;
  readonly tail: {
    readonly threshold: number;
    readonly log_exceedance_probability: number;
    readonly lambda: number;
    readonly shape: number;
  };
  /** Falling ln P(score ≥ x) by rising x, up to the threshold: the empirical distribution below the tail. */
  readonly body: readonly { readonly score: number; readonly log_probability: number }[];
  /** ln of the share of all pairs at or above a score, relatives that nothing has revealed among them. */
  readonly observed: readonly { readonly score: number; readonly log_probability: number }[];
  /** Largest score that the bin has seen. */
  readonly largest_score: number;
}

export interface ScaleCard {
  readonly centre: number;
  readonly spread: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Observed against expected counts of a population that the calibration was not fitted to. */
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
 * The calibration as a value: its id (`calib_…`) is the canonical SHA-256 of this card, which names the digests of its
 * two Arrow files, so that one id pins every number. Nothing in it depends on when or where it was made.
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
    /** Pairs left out because a chain of evident relatives connects them. */
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
    /** Queries whose residues are more alike than this are of a composition that the sample lacks. */
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
    /** Of what the two slopes say, where it is a slower fall; absent from older cards: all of it. */
    readonly slower_share?: number;
    readonly score_per_cosine: number;
    /** Of a release whose proteins have profiles. */
    readonly profiles?: {
      readonly log_mean: ScaleCard;
      readonly log_spread: ScaleCard;
      readonly log_effective: ScaleCard;
      readonly mean_slope: number;
      readonly spread_slope: number;
      readonly effective_slope: number;
      readonly leanings: readonly ScaleCard[];
      readonly leaning_slopes: readonly number[];
    };
  };
  /** How a protein's general closeness is measured: expected closeness by shape, and the panel it is measured on. */
  readonly bias: {
    readonly weights: readonly number[];
    readonly minimum: number;
    readonly maximum: number;
    /** Ascending target indices. */
    readonly panel: readonly number[];
    /** Of a release whose proteins have profiles: what they lean to (protein-bias.ts). */
    readonly leanings?: {
      readonly centres: readonly number[];
      readonly directions: readonly (readonly number[])[];
    };
  };
  readonly bins: readonly BinCard[];
  readonly populations: readonly PopulationCard[];
  /** Variants that were tried and rejected, in cards of an earlier version; now in fit-significance/README.md. */
  readonly tried?: readonly string[];
  readonly moments: { readonly dimension: number; readonly rank: number };
  readonly files: { readonly targets: FileCard; readonly basis: FileCard };
}

export const CARD_FORMAT = 'gloaming-calibration/4';
/** Before striking pairs had controls (control.ts): such cards go on judging as they did. */
export const UNCONTROLLED_FORMAT = 'gloaming-calibration/3';
/** Of releases whose proteins have profiles: the null depends on what two of them share and are worth, too. */
export const PROFILED_FORMAT = 'gloaming-calibration/6';
export type CardFormat = typeof CARD_FORMAT | typeof UNCONTROLLED_FORMAT | typeof PROFILED_FORMAT;
export const CARD_FORMATS: readonly string[] = [UNCONTROLLED_FORMAT, CARD_FORMAT, PROFILED_FORMAT];
/** Cards of a null that is no longer used: their releases count as not calibrated. */
export const SUPERSEDED_FORMATS: readonly string[] = [1, 2, 5].map(
  (format) => `gloaming-calibration/${format}`,
);

export const CARD_FILE = 'card.json';
export const TARGETS_FILE = 'targets.arrow';
export const BASIS_FILE = 'basis.arrow';

/** The tail's shape is taken as it was fitted to a thousandth of what one pair of the sample shows. */
export const MAXIMUM_LOG_EXTRAPOLATION = Math.log(1000);

/** Identifiers of what this version measures; any change to what one means needs a new name. */
export const NULL_POPULATION_ID = 'unconnected_release_pairs/1';
export const TAIL_COORDINATE_ID = 'affine_and_closeness_excess/5';
export const CONDITIONING_CONTEXT_ID = 'lengths_moments_and_biases/2';
export const PROFILED_CONTEXT_ID = 'lengths_moments_profiles_and_biases/2';
export const METHOD_ID = 'peaks_over_threshold/1';
export const ESTIMAND_ID = 'unrelated_targets_with_smaller_tail_probability/1';
export const QUALIFICATION_ID = 'protein_holdout_kolmogorov_smirnov/2';

export function calibrationId(card: CalibrationCard): string {
  return valueId('calib', card);
}

/** The folder of a release's calibration lies beside the release's own, whose bytes never change. */
export function calibrationDirectory(releaseDirectory: string): string {
  return `${releaseDirectory}.calibration`;
}
