// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

/**
 * One protein against one immutable release. Without any selector, the default database and its
 * default release are searched.
 */
export interface HomologyRequest {
  readonly query: {
    readonly kind: 'protein_sequence';
    /** One-letter amino acid codes. How other letters are read is what `query.normalization_id` names. */
    readonly sequence: string;
  };
  /** Database id or slug from the catalog; its default release is searched. */
  readonly database?: string;
  /** Exact immutable release. */
  readonly database_release_id?: string;
  readonly filter?: HomologyFilter;
  /** A reusable target space. */
  readonly target_space_id?: string;
  /**
   * - `candidate_measurement`: the measurements of each candidate
   * - `pairwise_sequence_alignment`: also the best local alignment of query and candidate
   * Default: "candidate_measurement".
   */
  readonly evidence?: 'candidate_measurement' | 'pairwise_sequence_alignment';
  /**
   * - `approximate`: the qualified policy that the release selects, or a stronger exhaustive
   * fallback
   * - `exhaustive`: the reference policy: every eligible target is compared
   * Default: "approximate".
   */
  readonly guarantee?: 'approximate' | 'exhaustive';
  /**
   * - `not_requested`: no judgement
   * - `if_available`: judged where the calibration supports it
   * - `required`: refused before any work where no calibration supports it
   * Default: "if_available".
   */
  readonly significance?: 'not_requested' | 'if_available' | 'required';
  /**
   * - `as_release`: the query is given relatives as the targets of the release were, if they were:
   * the default
   * - `none`: the query is compared as it stands
   */
  readonly relatives?: 'as_release' | 'none';
  /** Rows returned at most; the answer is also bounded by 16 MiB. Default: 100. */
  readonly limit?: number;
}

/**
 * A predicate over the attributes of a target. Fields, operators and limits follow the immutable
 * filter schema of the release. A missing field makes a comparison unknown; only targets for which
 * the whole is true are eligible.
 */
export type HomologyFilter =
  | {
      readonly op: 'and' | 'or';
      readonly filters: readonly HomologyFilter[];
    }
  | {
      readonly op: 'not';
      readonly filter: HomologyFilter;
    }
  | {
      readonly op:
        'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'prefix' | 'suffix' | 'contains' | 'descends_from';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
      /** Read by the field's type. */
      readonly value: string;
    }
  | {
      readonly op: 'in' | 'not_in' | 'contains_any' | 'contains_all';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
      readonly values: readonly string[];
    }
  | {
      readonly op: 'between' | 'not_between';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
      readonly values: readonly string[];
    }
  | {
      readonly op: 'exists' | 'missing';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
    };

/** Ranked retrieval candidates of one query: measurements, not asserted homologs. */
export interface HomologyCandidateSet {
  readonly object: 'homology_candidate_set';
  /** Closest first. */
  readonly candidates: readonly HomologyCandidate[];
  readonly database: {
    /** Digest of ids, sequences and attributes, whatever encoder encoded them. */
    readonly corpus_snapshot_id: string;
    /** Database id. */
    readonly id: string;
    /** Release that was searched. */
    readonly release_id: string;
    /** Residues of the eligible targets. */
    readonly searched_residue_count: number;
    /** Eligible targets. */
    readonly searched_target_count: number;
    /** Name of the database. */
    readonly slug: string;
    /** SHA-256 of the canonical filter; present where one applied. */
    readonly canonical_filter_sha256?: string;
    /** Names the eligible targets; pass it as `target_space_id` to search them again. */
    readonly target_space_id?: string;
  };
  readonly evidence_summary: {
    /**
     * - `candidate_measurement`: measurements only
     * - `pairwise_sequence_alignment`: measurements and alignments
     */
    readonly requested: 'candidate_measurement' | 'pairwise_sequence_alignment';
    /**
     * True when every returned candidate carries all that was asked for: alignments, and supported
     * judgements unless none were requested. False takes nothing from what is there.
     */
    readonly is_requested_evidence_complete: boolean;
    readonly alignment: {
      /**
       * - `not_requested`: alignments were not asked for
       * - `complete`: every candidate has one
       * - `partial`: some candidates have no pair of residues that scores above zero
       */
      readonly status: 'not_requested' | 'complete' | 'partial';
      /** Candidates that the status speaks of. */
      readonly candidate_count: number;
      /** Candidates that lack it. */
      readonly affected_candidate_count: number;
      /**
       * - `not_requested`: alignments were not asked for
       * - `all_candidates_aligned`: nothing is missing
       * - `no_positive_local_score`: no pair of residues of some candidate scores above zero
       * - `no_candidates`: the answer has no candidates
       */
      readonly reason:
        'not_requested' | 'all_candidates_aligned' | 'no_positive_local_score' | 'no_candidates';
    };
    readonly significance: {
      /**
       * - `not_requested`: no judgement was asked for
       * - `if_available`: judged where supported
       * - `required`: refused where unsupported
       */
      readonly requirement: 'not_requested' | 'if_available' | 'required';
      /**
       * - `not_requested`: no judgement was asked for
       * - `complete`: every candidate is judged
       * - `partial`: some candidates are outside the calibration
       * - `not_available`: no candidate could be judged
       */
      readonly status: 'not_requested' | 'complete' | 'partial' | 'not_available';
      /** Candidates that the status speaks of. */
      readonly candidate_count: number;
      /** Candidates without a supported judgement. */
      readonly affected_candidate_count: number;
      /**
       * - `not_requested`: no judgement was asked for
       * - `all_candidates_supported`: nothing is missing
       * - `some_candidates_unsupported`: each candidate's own reason tells why
       * - `no_candidates`: the answer has no candidates
       * - `no_qualified_calibration`: the release has no qualified calibration for this policy
       */
      readonly reason:
        | 'not_requested'
        | 'all_candidates_supported'
        | 'some_candidates_unsupported'
        | 'no_candidates'
        | 'no_qualified_calibration';
    };
  };
  readonly execution: {
    /** When this execution ended; an answer from the cache keeps the time of its execution. */
    readonly created_at: string;
    /** Kernel backend and the variant that served. */
    readonly engine: string;
    /** Version of the kernels. */
    readonly engine_release: string;
    /** Names all that gives the numbers their meaning: encoder, quantisation, scores. */
    readonly semantic_profile_id: string;
    /** Exact build of the server: release version and commit. */
    readonly server_version: string;
    readonly policy: {
      /** True: equal requests give equal candidates. */
      readonly is_deterministic: boolean;
      /** Whether every eligible target was compared. */
      readonly is_exhaustive: boolean;
      /** Whether a stronger policy than asked for answered. */
      readonly is_fallback: boolean;
      /**
       * - `complete_exact`: the ranking is exact over the whole target space
       * - `complete_approximate`: the ranking is exact over the shortlist of the qualified policy
       */
      readonly outcome: 'complete_exact' | 'complete_approximate';
      /**
       * - `approximate`: the qualified policy of the release
       * - `exhaustive`: every eligible target is compared
       */
      readonly requested_guarantee: 'approximate' | 'exhaustive';
      /**
       * - `approximate`: the qualified policy of the release
       * - `exhaustive`: every eligible target is compared
       */
      readonly resolved_guarantee: 'approximate' | 'exhaustive';
      /**
       * - `exhaustive_requested`: the caller asked for the reference policy
       * - `qualified_approximate_policy`: the release has a qualified approximate policy
       * - `no_qualified_approximate_policy`: the release has none, so the reference policy answered
       * - `limit_exceeds_qualified_policy`: more candidates were asked for than any policy of its card
       * lists, so the reference policy answered
       */
      readonly resolution_reason:
        | 'exhaustive_requested'
        | 'qualified_approximate_policy'
        | 'no_qualified_approximate_policy'
        | 'limit_exceeds_qualified_policy';
      /** The approximate policy that answered; absent where the reference did. */
      readonly policy_id?: string;
      /** Card of what the approximate policy was measured to keep of the exhaustive answer. */
      readonly qualification_id?: string;
      /**
       * Targets that the approximate policy measures exactly and aligns, because a sample of the query
       * is near.
       */
      readonly nearest_count?: number;
      /**
       * As many more at most, because some of the sample is strikingly near; the best evidence is
       * listed.
       */
      readonly striking_count?: number;
      /** What that card says the approximate policy misses of the exhaustive answer, for people. */
      readonly known_losses?: string;
    };
  };
  /** True when more ranked targets existed beyond `limit`. */
  readonly is_result_limit_reached: boolean;
  readonly performance: {
    /** True when the candidates of an earlier equal execution were reused. */
    readonly is_cache_hit: boolean;
    /** From arrival until work started. */
    readonly queue_wait_ms: number;
    /** Finding the query's relatives, part of the execution; present where the targets have relatives. */
    readonly relatives_search_ms?: number;
    /** Encoding, comparing, ranking and aligning. */
    readonly search_execution_ms: number;
    /** From arrival until this answer was written. */
    readonly server_total_ms: number;
  };
  readonly query: {
    readonly kind: 'protein_sequence';
    /** How the letters were read. */
    readonly normalization_id: string;
    /** Residues after normalisation. */
    readonly normalized_length: number;
    /** Relatives that the query's tokens were made with; present where the targets have relatives. */
    readonly relative_count?: number;
    /** SHA-256 of the normalised sequence. */
    readonly sha256: string;
  };
  readonly ranking: {
    /** Ranks and distances compare within this answer only. */
    readonly comparability: 'within_query_only';
    readonly order: 'ascending';
    readonly primary_measurement: 'maxsim.bidirectional';
    readonly scope: 'resolved_policy_frontier';
    readonly tie_breakers: readonly {
      /** Member of the candidate. */
      readonly field: string;
      /** `ascending`. */
      readonly order: string;
    }[];
  };
  readonly receipt: {
    /** Length of the canonical JSON of the receipt. */
    readonly bytes: number;
    /** Pass it to `GET /v1/receipts/{receipt_id}`. */
    readonly id: string;
    /** SHA-256 of the canonical JSON of the receipt. */
    readonly sha256: string;
  };
  /** Equals the header `X-Request-ID`. */
  readonly request_id: string;
  /** Names what was found: equal searches have equal values on every machine. */
  readonly result_sha256: string;
  readonly usage: {
    /** Bytes of ids, sequences and attributes that were returned. */
    readonly logical_bytes_returned: number;
    /** How the units were counted. */
    readonly billable_formula_id?: string;
    /** Units billed; equals `X-Service-Billable-Units`. */
    readonly billable_units?: number;
    /** Bytes of residue tokens that were compared. */
    readonly logical_bytes_read?: number;
  };
  readonly warnings: readonly Warning[];
}

export interface HomologyCandidate {
  /** 1 is the closest. */
  readonly rank: number;
  readonly target: {
    /** Id of the target in its release. */
    readonly id: string;
    /** Its normalised sequence, as it was encoded. */
    readonly sequence: string;
    /** Attributes of the target that are present, by field of the filter schema. */
    readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  };
  readonly measurements: {
    readonly affine: {
      /** Raw score ÷ the smaller of the query's and the target's score with itself. */
      readonly normalized_score: number;
      /**
       * Best local alignment score with affine gaps, over integer similarities of residues: vectors and
       * letters.
       */
      readonly raw_score: number;
    };
    readonly late_interaction: {
      /** query_token_count × mean_closest_cosine_distance. */
      readonly distance: number;
      /** Equals maxsim.query_to_target. */
      readonly mean_closest_cosine_distance: number;
      /** 1 − maxsim.query_to_target. */
      readonly mean_closest_cosine_similarity: number;
      /** Tokens of the query: its residues. */
      readonly query_token_count: number;
    };
    /**
     * Distances: 1 − cosine, 0 for the same direction and 2 for the opposite. Tokens are rounded to
     * integers of squared norm ≤ 32,767, so that a distance can leave that range by a little: with
     * `inverse_step` 173 it lies in −0.095..2.095, and that of a protein to itself is about 0, on
     * either side. It is not clamped.
     */
    readonly maxsim: {
      /** Mean of the two directions; the primary measurement of the ranking. */
      readonly bidirectional: number;
      /** Mean, over query residues, of the cosine distance to the closest target residue. */
      readonly query_to_target: number;
      /** Mean, over target residues, of the cosine distance to the closest query residue. */
      readonly target_to_query: number;
    };
  };
  readonly alignment?: PairwiseAlignment;
  readonly significance: Significance;
}

/** Best local alignment of query and target; present where it was asked for. */
export interface PairwiseAlignment {
  /** Columns with a residue on both sides. */
  readonly aligned_residue_count: number;
  /** Extended CIGAR (`=`, `X`, `I`, `D`); empty where no pair of residues scores above zero. */
  readonly cigar: string;
  readonly cigar_dialect: 'extended';
  readonly coordinate_system: 'zero_based_half_open';
  /** Gaps. */
  readonly gap_opening_count: number;
  /** Residues that face a gap. */
  readonly gap_residue_count: number;
  /** Columns with the same known residue on both sides. */
  readonly identical_residue_count: number;
  /** Aligned stretch of the query ÷ its length. */
  readonly query_coverage_ratio: number;
  /** Position after the last aligned query residue. */
  readonly query_end: number;
  /** Residues of the normalised query. */
  readonly query_length: number;
  /** Position of the first aligned query residue. */
  readonly query_start: number;
  /** Identical residues ÷ columns of the alignment, gaps included. */
  readonly sequence_identity_ratio: number;
  /** Aligned stretch of the target ÷ its length. */
  readonly target_coverage_ratio: number;
  /** Position after the last aligned target residue. */
  readonly target_end: number;
  /** Residues of the target. */
  readonly target_length: number;
  /** Position of the first aligned target residue. */
  readonly target_start: number;
}

export interface Significance {
  /**
   * - `supported_empirical`: the score lies within the sample of the calibration
   * - `supported_extrapolated`: the score lies beyond the sample; the tail was extrapolated to it
   * - `upper_bound`: no tail model reaches the score; the numbers are upper bounds
   * - `unsupported`: the calibration does not cover this pair
   * - `not_available`: the release has no qualified calibration for this policy
   * - `not_requested`: significance was not asked for
   */
  readonly status:
    | 'supported_empirical'
    | 'supported_extrapolated'
    | 'upper_bound'
    | 'unsupported'
    | 'not_available'
    | 'not_requested';
  /**
   * - `within_calibration_sample`: at or above the threshold, within the observed null scores
   * - `below_tail_threshold`: below the threshold of the tail; the empirical distribution answers
   * - `within_extrapolation_limit`: beyond the sample by less than the qualified factor
   * - `beyond_extrapolation_limit`: beyond the qualified factor; the tail goes on as an exponential
   * - `query_too_short`: shorter than the calibrated queries
   * - `query_too_long`: longer than the calibrated queries
   * - `query_composition_not_calibrated`: its residues are more alike than those of any calibrated
   * query
   * - `target_too_short`: shorter than the calibrated targets
   * - `target_too_long`: longer than the calibrated targets
   * - `too_few_exceedances`: the bin had too few null scores above its threshold
   * - `bin_not_qualified`: the tail model of the bin failed its hold-out test
   * - `no_affine_score`: the pair has no positive local alignment to judge
   * - `no_qualified_calibration`: the release has no qualified calibration for this policy
   * - `not_requested`: significance was not asked for
   */
  readonly reason:
    | 'within_calibration_sample'
    | 'below_tail_threshold'
    | 'within_extrapolation_limit'
    | 'beyond_extrapolation_limit'
    | 'query_too_short'
    | 'query_too_long'
    | 'query_composition_not_calibrated'
    | 'target_too_short'
    | 'target_too_long'
    | 'too_few_exceedances'
    | 'bin_not_qualified'
    | 'no_affine_score'
    | 'no_qualified_calibration'
    | 'not_requested';
  readonly measurements: SignificanceMeasurements;
}

export interface SignificanceMeasurements {
  /** Content-derived id of the calibration. */
  readonly calibration_id?: string;
  /** Null pairs in the bin. */
  readonly calibration_sample_count?: number;
  /** True when the family-wise probability is a lower bound. */
  readonly is_family_wise_lower_bound?: boolean;
  /** Residues of the eligible targets. */
  readonly searched_residue_count?: number;
  /** Eligible targets. */
  readonly searched_sequence_count?: number;
  /** Support of the tail probability: one of the values of `significance.status`. */
  readonly support_status?: string;
  /**
   * −log₂ of `pair_tail_probability`, which is (λ · score − ln k) / ln 2 of `tail_model`: it rises
   * as the E-value falls, and is small for weak hits. Unit: bits.
   */
  readonly bit_score?: number;
  /** Bin of query length and target stratum that judged the pair. */
  readonly calibration_bin?: string;
  /** Calibration behind the expected number of false hits. */
  readonly e_value_calibration_id?: string;
  /** What the null distribution is conditioned on. */
  readonly e_value_conditioning_context_id?: string;
  /** What exactly is estimated. */
  readonly e_value_estimand?: string;
  /**
   * How far beyond its sample the tail was checked. Unit: natural logarithm. The factor of one
   * candidate is `minimum_resolvable_probability` ÷ `pair_tail_probability`.
   */
  readonly e_value_maximum_log_extrapolation_factor?: number;
  /** How the tail was estimated. */
  readonly e_value_method?: string;
  /** Which pairs count as unrelated. */
  readonly e_value_null_population_id?: string;
  /** The hold-out test that qualified the calibration. */
  readonly e_value_qualification_id?: string;
  /** Policy that the calibration was measured under. */
  readonly e_value_search_policy_id?: string;
  /** The searched population: release or target space. */
  readonly e_value_searched_inventory_id?: string;
  /** Largest supported natural logarithm of the E-value. */
  readonly e_value_supported_log_maximum?: number;
  /**
   * Natural logarithm of the E-value down to which the tail was checked; below it goes on as an
   * exponential.
   */
  readonly e_value_supported_log_minimum?: number;
  /** The score that the tail is measured on. */
  readonly e_value_tail_coordinate?: string;
  /** Target length strata that the expectation sums over. */
  readonly e_value_target_stratum_count?: number;
  /** E-value: expected number of unrelated targets that score at least this well. */
  readonly expected_false_hits?: number;
  /** Chance that any unrelated target scores this well. */
  readonly family_wise_exceedance_probability?: number;
  /** True when the true E-value may be smaller. */
  readonly is_e_value_upper_bound?: boolean;
  /** Natural logarithm of the E-value; it does not underflow. */
  readonly log_expected_false_hits?: number;
  /** Smallest tail probability that the sample resolves. */
  readonly minimum_resolvable_probability?: number;
  /** Natural logarithm of the tail probability of one pair. */
  readonly pair_tail_log_probability?: number;
  /** Chance that one unrelated pair scores at least this well. */
  readonly pair_tail_probability?: number;
  /** −log₂ of the tail probability of one pair. */
  readonly pair_tail_surprisal_bits?: number;
  /**
   * Upper bound on the share of false entries among the candidates with at least this evidence:
   * E-value ÷ candidates ranked no lower with an E-value no greater, and no less than that of any of
   * these. It never falls as E-values rise, and does not depend on `limit`.
   */
  readonly q_value?: number;
  /** Peaks-over-threshold model of the null scores of the bin. */
  readonly tail_model?: {
    /** Null scores above the threshold that the model was fitted to. */
    readonly fit_exceedance_count: number;
    /** Null scores above the threshold of proteins kept out of the fit. */
    readonly holdout_exceedance_count: number;
    /** Largest distance of model and held-out null scores: an effect size. */
    readonly holdout_kolmogorov_smirnov: number;
    /** Chance of a distance that large if the model were true. */
    readonly holdout_significance_level: number;
    /** Prefactor of the expected number of false hits: the tail probability at score 0. */
    readonly k: number;
    /** Rate at which the tail falls. Unit: nats per score unit. */
    readonly lambda: number;
    /** Score from which on the tail model holds. */
    readonly threshold_score: number;
  };
}

export interface TargetSpaceCompilationRequest {
  /** Exact immutable release. */
  readonly DatabaseReleaseID: string;
  readonly Filter: TargetSpaceFilter;
}

/**
 * A predicate over the attributes of a target. Fields, operators and limits follow the immutable
 * filter schema of the release. A missing field makes a comparison unknown; only targets for which
 * the whole is true are eligible.
 */
export type TargetSpaceFilter =
  | {
      readonly op: 'and' | 'or';
      readonly filters: readonly TargetSpaceFilter[];
    }
  | {
      readonly op: 'not';
      readonly filter: TargetSpaceFilter;
    }
  | {
      readonly op: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
      /** Read by the field's type. */
      readonly value: string;
    }
  | {
      readonly op: 'in' | 'not_in';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
      readonly values: readonly string[];
    }
  | {
      readonly op: 'exists' | 'missing';
      /** A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them. */
      readonly field: string;
    };

export interface HomologyTargetSpaceCompilationEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: HomologyTargetSpaceCompilation;
  readonly evidence: Evidence;
}

/** A filter bound to one release, compiled into a reusable immutable target space. */
export interface HomologyTargetSpaceCompilation {
  readonly object: 'homology_target_space_compilation';
  /** Id of this compilation; equal to `target_space_id`, because equal filters are one target space. */
  readonly id: string;
  /** A reusable target space. */
  readonly target_space_id: string;
  /** Exact immutable release. */
  readonly database_release_id: string;
  /** SHA-256 of the canonical filter. */
  readonly canonical_filter_sha256: string;
  /** The immutable filter schema of the release. */
  readonly filter_schema_id: string;
  /** What gives the numbers of a search their meaning. */
  readonly semantic_profile_id: string;
}

export interface HomologyDatabaseList {
  readonly object: 'list';
  readonly data: readonly HomologyDatabase[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface HomologyDatabase {
  readonly object: 'homology_database';
  /** Database id. */
  readonly id: string;
  /** Name of the database; serves as selector as the id does. */
  readonly slug: string;
  /** Title of its default release. */
  readonly title: string;
  /** Description of its default release. */
  readonly description: string;
  /** True for the database that is searched when a request selects none. */
  readonly is_default: boolean;
  /** True where the proteins were simulated, not observed. */
  readonly is_simulated: boolean;
  /** Release that is searched when a request names only the database. */
  readonly default_release_id: string;
  /** Releases that can be searched. */
  readonly release_count: number;
}

export interface HomologyReleaseList {
  readonly object: 'list';
  readonly data: readonly HomologyRelease[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface HomologyRelease {
  readonly object: 'homology_database_release';
  /** Release id: it names the content. */
  readonly id: string;
  /** Database that it is a release of. */
  readonly database_id: string;
  /** Name of that database. */
  readonly database_slug: string;
  /** True for the release that is searched when a request names only the database. */
  readonly is_default: boolean;
  /** When it was added to the catalog. */
  readonly published_at: string;
  /** Title. */
  readonly title: string;
  /** Description. */
  readonly description: string;
  /** True where the proteins were simulated, not observed. */
  readonly is_simulated: boolean;
  /** Digest of ids, sequences and attributes, whatever encoder encoded them. */
  readonly corpus_snapshot_id: string;
  /** How letters are read. */
  readonly normalization_id: string;
  /** Encoder of its residues. */
  readonly encoder_id: string;
  /** Digest of that encoder. */
  readonly encoder_sha256: string;
  /** Components of a residue vector. */
  readonly dimension: number;
  /** Proteins. */
  readonly target_count: number;
  /** Residues. */
  readonly residue_count: number;
  /** Names the fields below. */
  readonly filter_schema_id: string;
  /** Fields that a filter may name. */
  readonly filter_fields: readonly {
    /** Name of the field, as a filter writes it. */
    readonly name: string;
    /**
     * - `string`: text, compared code point by code point
     * - `integer`: whole number, in decimal notation
     * - `number`: number, in decimal notation
     * - `boolean`: `true` or `false`
     * - `string_list`: several texts
     */
    readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'string_list';
    /** True where `descends_from` applies. */
    readonly is_taxonomy: boolean;
    /** Operators that take the field. */
    readonly operators: readonly string[];
  }[];
  /** Bounds of one filter over these fields. */
  readonly filter_limits: {
    /** Filters within filters, the outermost included. */
    readonly maximum_depth: number;
    /** Filters in all. */
    readonly maximum_clauses: number;
    /** Entries of all `values` together. */
    readonly maximum_values: number;
    /** Of them, those of `contains_any` and `contains_all` on texts. */
    readonly maximum_substring_values: number;
    /** Characters of one value. */
    readonly maximum_value_characters: number;
  };
}
