// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';
import type { HomologyCandidate, HomologyCandidateSet, HomologyFilter, HomologyRequest } from './homology.js';

/** What to execute, told apart by `endpoint`. */
export type RunRequest =
  | {
      readonly endpoint: 'homology.search';
      readonly input: SearchRunInput;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "normal".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    }
  | {
      readonly endpoint: 'homology.batch_search';
      readonly input: BatchSearchRunInput;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "low".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    }
  | {
      readonly endpoint: 'homology.export';
      readonly input: ExportRunInput;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "normal".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    }
  | {
      readonly endpoint: 'sequences.msa.build';
      readonly input: MsaRequest;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "normal".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    }
  | {
      readonly endpoint: 'sequences.relatives';
      readonly input: RelativesRunInput;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "normal".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    }
  | {
      readonly endpoint: 'structure.predict';
      readonly input: StructureRunInput;
      /** Your name of the run. */
      readonly label?: string;
      /**
       * - `high`: before your others
       * - `normal`: in between
       * - `low`: after your others
       * Default: "normal".
       */
      readonly priority?: 'high' | 'normal' | 'low';
      /** False waits for the end as `Prefer: wait=60` does. Default: true. */
      readonly background?: boolean;
      /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
      readonly webhook_endpoint_id?: string;
    };

/**
 * One protein against one release, as `POST /v1/homology` takes it. Cut-offs leave rows out of the
 * result; what is left keeps its rank.
 */
export interface SearchRunInput {
  readonly query: HomologyRequest['query'];
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
  /** Candidates kept at most, for each query. Default: 100. */
  readonly limit?: number;
  /** Greatest E-value; candidates without one are left out. */
  readonly maximum_expected_false_hits?: number;
  /** Least aligned stretch of the query ÷ its length. */
  readonly minimum_query_coverage_ratio?: number;
  /** Least aligned stretch of the target ÷ its length. */
  readonly minimum_target_coverage_ratio?: number;
  /** Least sequence identity of the alignment, gaps included. */
  readonly minimum_sequence_identity_ratio?: number;
}

/**
 * Up to 100,000 proteins against one release: `queries`, `fasta` or `fasta_url`, one of them. A
 * file is read when the run is created; what becomes of it later changes nothing. Cut-offs leave
 * candidates out of the rows; what is left keeps its rank.
 */
export interface BatchSearchRunInput {
  /** The queries. */
  readonly queries?: readonly {
    /** Your name of the query. */
    readonly id?: string;
    /** One-letter amino acid codes. How other letters are read is what `query.normalization_id` names. */
    readonly sequence: string;
  }[];
  /**
   * The queries as FASTA. The id of a query is the accession of a UniProt header, else the first
   * word: as ids of targets are read when a database is built.
   */
  readonly fasta?: string;
  /** The URL of an uploaded FASTA file, plain or gzip, as its completion gave it. */
  readonly fasta_url?: string;
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
  /** Candidates kept at most, for each query. Default: 100. */
  readonly limit?: number;
  /** Greatest E-value; candidates without one are left out. */
  readonly maximum_expected_false_hits?: number;
  /** Least aligned stretch of the query ÷ its length. */
  readonly minimum_query_coverage_ratio?: number;
  /** Least aligned stretch of the target ÷ its length. */
  readonly minimum_target_coverage_ratio?: number;
  /** Least sequence identity of the alignment, gaps included. */
  readonly minimum_sequence_identity_ratio?: number;
}

/**
 * The rows of a run as one file in storage, while you may see the database that was searched; its
 * results stay readable after that.
 */
export interface ExportRunInput {
  /** A completed run of `homology.search` or `homology.batch_search`. */
  readonly run_id: string;
  /**
   * - `fasta`: each target once, in the order in which it was first found
   * - `tsv`: one line for each candidate, under a line of names: the table that `gloaming search
   * --format tsv --alignments` writes; positions zero-based and half-open, an absent value is an
   * empty cell
   * - `m8`: one line for each aligned candidate, in the twelve columns of BLAST outfmt 6; positions
   * from 1; where no calibration supports an E-value the count of searched targets stands, and a bit
   * score of 0
   * - `blast`: the same in the columns that `outfmt` names, with comments (`7`), or as BLAST XML
   * (`5`)
   * - `mmseqs`: the same in the columns of MMseqs2 that `format_output` names
   * - `a3m`: the alignment of one query: the query first, then the rows that `sequences.msa.build`
   * would keep, by the same defaults; of all queries in a tar with `all_queries`
   * - `parquet`: one row for each candidate, with all of its measurements
   * - `arrow`: the columns of `parquet` as an Arrow IPC file
   */
  readonly format: 'fasta' | 'tsv' | 'm8' | 'blast' | 'mmseqs' | 'a3m' | 'parquet' | 'arrow';
  /**
   * Only the candidates of this query of a batch, the first is 0; `a3m` of a batch needs it, or
   * `all_queries`.
   */
  readonly query_index?: number;
  /** A tar of the alignments of all queries; of `a3m` only. */
  readonly all_queries?: boolean;
  /**
   * Of `blast`: `6`, `7` or `5`, then the names of columns that BLAST and DIAMOND give them, such as
   * `6 qseqid sseqid pident evalue bitscore`; the twelve of `m8` where none are named. Default: `6`.
   */
  readonly outfmt?: string;
  /**
   * Of `mmseqs`: names of columns between commas, as its `--format-output` takes them; its own
   * twelve where there are none.
   */
  readonly format_output?: string;
  /**
   * Order of the candidates of each query.
   * - `rank`: by distance, as the search ranked them
   * - `evalue`: by E-value, those without one last; equal ones by score, then by rank
   * - `score`: by affine score, best first; equal ones by rank
   */
  readonly sort?: 'rank' | 'evalue' | 'score';
  /** Greatest E-value; candidates without one are left out. */
  readonly maximum_expected_false_hits?: number;
  /** Least aligned stretch of the query ÷ its length. */
  readonly minimum_query_coverage_ratio?: number;
  /** Least aligned stretch of the target ÷ its length. */
  readonly minimum_target_coverage_ratio?: number;
  /** Least sequence identity of the alignment, gaps included. */
  readonly minimum_sequence_identity_ratio?: number;
  readonly msa?: MsaChoice;
  /** Where the file is written; a file that stands there is replaced. Default: below `exports/`. */
  readonly path?: string;
}

/** How the rows of `a3m` are chosen of those that pass the cut-offs. */
export interface MsaChoice {
  /** Rows at most, the query included. Default: 5000. */
  readonly maximum_depth?: number;
  /** Greatest sequence identity with the query. Default: 1. */
  readonly maximum_sequence_identity_ratio?: number;
  /**
   * Greatest sequence identity of two rows over the columns in which both have a residue: of two
   * that are more alike the first stays, and the query always does. 1 leaves all. Default: 0.95.
   */
  readonly maximum_pairwise_identity_ratio?: number;
  /**
   * Rows must differ by more than that, as far as every 50 columns keep this many of them: what
   * `hhfilter -diff` does. 0, the default, asks for no more.
   */
  readonly diverse_row_count?: number;
  /**
   * Least normalised affine score. Default: 0.25 where no calibration gives any candidate an
   * E-value, else 0.
   */
  readonly minimum_normalized_score?: number;
  /**
   * Which rows stay where more are left than the depth allows. Their order stays.
   * - `identity_strata`: ten classes of sequence identity with the query, 0.1 wide, take turns from
   * the highest, each giving its first in the order `sort`
   * - `rank`: the first in the order `sort` Default: "identity_strata".
   */
  readonly selection?: 'identity_strata' | 'rank';
}

export interface MsaRequest {
  /** Receipt id: it names the content. */
  readonly receipt_id: string;
  /** These rows, in this order, instead of the candidates of the receipt; of the same query. */
  readonly component_ids?: readonly string[];
  /** Rows at most, the query included. Default: 5000. */
  readonly maximum_depth?: number;
  /** Greatest sequence identity with the query. Default: 1. */
  readonly maximum_sequence_identity_ratio?: number;
  /**
   * Greatest sequence identity of two rows over the columns in which both have a residue: of two
   * that are more alike the first stays, and the query always does. 1 leaves all. Default: 0.95.
   */
  readonly maximum_pairwise_identity_ratio?: number;
  /**
   * Rows must differ by more than that, as far as every 50 columns keep this many of them: what
   * `hhfilter -diff` does. 0, the default, asks for no more.
   */
  readonly diverse_row_count?: number;
  /**
   * Least normalised affine score. Default: 0.25 where no calibration gives any candidate an
   * E-value, else 0.
   */
  readonly minimum_normalized_score?: number;
  /**
   * Which rows stay where more are left than the depth allows. Their order stays.
   * - `identity_strata`: ten classes of sequence identity with the query, 0.1 wide, take turns from
   * the highest, each giving its first in the order `sort`
   * - `rank`: the first in the order `sort` Default: "identity_strata".
   */
  readonly selection?: 'identity_strata' | 'rank';
  /** Least aligned stretch of the query ÷ its length. Default: 0.5. */
  readonly minimum_query_coverage_ratio?: number;
  /** Least aligned stretch of the target ÷ its length. */
  readonly minimum_target_coverage_ratio?: number;
  /** Least sequence identity with the query. Default: 0. */
  readonly minimum_sequence_identity_ratio?: number;
  /**
   * Greatest E-value; candidates without one are left out. Default: 0.001 where a calibration gives
   * any of them one; else a normalised affine score of 0.25 is asked for instead, and a warning says
   * so.
   */
  readonly maximum_expected_false_hits?: number;
  /**
   * Order of the candidates of each query.
   * - `rank`: by distance, as the search ranked them
   * - `evalue`: by E-value, those without one last; equal ones by score, then by rank
   * - `score`: by affine score, best first; equal ones by rank
   */
  readonly sort?: 'rank' | 'evalue' | 'score';
}

/**
 * One protein, and a release whose targets have relatives: what it is given in a search is looked
 * for in the same background by the same rules, and kept with near copies and however much there
 * is.
 */
export interface RelativesRunInput {
  readonly query: HomologyRequest['query'];
  /** Database id or slug from the catalog; its default release is searched. */
  readonly database?: string;
  /** Exact immutable release. */
  readonly database_release_id?: string;
  /** Hits that each round of the search looks at. Default: 1000. */
  readonly limit?: number;
}

/** The alignment that the structure is predicted from: `a3m_object_id` or `a3m_url`. */
export interface StructureRunInput {
  /** Id of a multiple sequence alignment: it names its content and how it was made. */
  readonly a3m_object_id?: string;
  /** The URL of an uploaded A3M file, as its completion gave it. */
  readonly a3m_url?: string;
  /** Folder of the files; those that stand there are replaced. Default: `structures/<run id>`. */
  readonly folder?: string;
}

export interface ExecutionEnvelopeRun {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: Run;
  readonly evidence: Evidence;
}

/** Retained work. */
export interface Run {
  readonly object: 'run';
  /** Run id. */
  readonly id: string;
  /**
   * - `homology.search`: one protein against one release, with up to 10,000 retained candidates
   * - `homology.batch_search`: up to 100,000 proteins against one release
   * - `homology.export`: the rows of a run as a file: FASTA, tables of several tools, A3M, Parquet
   * or Arrow
   * - `sequences.msa.build`: a multiple sequence alignment of the candidates of a receipt
   * - `sequences.relatives`: the relatives of one protein in the background of a release whose
   * targets have relatives
   * - `structure.predict`: a structure from an alignment, by the operator's own predictor; refused
   * where there is none
   */
  readonly endpoint:
    | 'homology.search'
    | 'homology.batch_search'
    | 'homology.export'
    | 'sequences.msa.build'
    | 'sequences.relatives'
    | 'structure.predict';
  /**
   * - `queued`: accepted; work has not started
   * - `running`: at work; a restarted server goes on with it
   * - `completed`: finished, with its result
   * - `failed`: ended without a result; `error` says why
   * - `cancelled`: ended by its owner
   */
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  /** Your name of the run. */
  readonly label?: string;
  /**
   * - `high`: first
   * - `normal`: in between
   * - `low`: last
   */
  readonly priority: 'high' | 'normal' | 'low';
  /**
   * What the creating request asked for: false where it wanted to wait for the end, by `background:
   * false` or by `Prefer: wait`, however long it then waited.
   */
  readonly is_background: boolean;
  /** Webhook endpoint that is told of the end, whatever events it takes otherwise. */
  readonly webhook_endpoint_id?: string;
  /** SHA-256 of the canonical JSON of `input` with defaults filled in. */
  readonly input_sha256: string;
  /** When it was accepted. */
  readonly created_at: string;
  /** When work started. */
  readonly started_at?: string;
  /** When it completed, failed or was cancelled. */
  readonly finished_at?: string;
  /** When its results go; 30 days after its end. */
  readonly expires_at?: string;
  /** Times that work was started or resumed. */
  readonly attempt_count: number;
  readonly progress: {
    /** What is being done. */
    readonly stage: string;
    /** Share of the work that is done. */
    readonly fraction: number;
    /** Units of work (queries, or rows of an export) that are done. */
    readonly done_count: number;
    /** Units of work in all. */
    readonly total_count: number;
    /** Units per second while it ran. */
    readonly rate_per_second?: number;
    /** Estimate of the time left, without waiting. */
    readonly seconds_left?: number;
  };
  readonly result?: {
    /** Rows of `GET /v1/runs/{run_id}/results`. */
    readonly row_count: number;
    /** What was found besides the rows. */
    readonly summary:
      | SearchRunSummary
      | BatchSearchRunSummary
      | ExportRunSummary
      | MsaRunSummary
      | RelativesRunSummary
      | StructureRunSummary;
  };
  readonly error?: {
    /** Stable machine-readable code. */
    readonly code: string;
    /** What was expected, what came and what to do. */
    readonly message: string;
    /** Machine-readable facts. */
    readonly details: Readonly<Record<string, unknown>>;
  };
  readonly usage: {
    /** Units billed; 0 unless the run completed. */
    readonly billable_units: number;
  };
}

export interface SearchRunSummary {
  readonly object: 'homology_search_summary';
  readonly database: HomologyCandidateSet['database'];
  readonly evidence_summary: HomologyCandidateSet['evidence_summary'];
  readonly execution: HomologyCandidateSet['execution'];
  /** True when more ranked targets existed beyond `limit`. */
  readonly is_result_limit_reached: boolean;
  readonly query: HomologyCandidateSet['query'];
  readonly ranking: HomologyCandidateSet['ranking'];
  readonly receipt: HomologyCandidateSet['receipt'];
  /** Names what was found: equal searches have equal values on every machine. */
  readonly result_sha256: string;
  /** Candidates that cut-offs left out; present where any were asked for. `result_sha256` is of all. */
  readonly left_out_count?: number;
  readonly warnings: readonly Warning[];
}

export interface BatchSearchRunSummary {
  readonly object: 'homology_batch_search_summary';
  readonly database: HomologyCandidateSet['database'];
  readonly execution: HomologyCandidateSet['execution'];
  /** Queries; each is one row of the results. */
  readonly query_count: number;
  /** Candidates that were found, of all queries. */
  readonly candidate_count: number;
  /** Candidates that cut-offs left out; present where any were asked for. `result_sha256` is of all. */
  readonly left_out_count?: number;
  /** Chained over the `result_sha256` of the queries in order. */
  readonly result_sha256: string;
  readonly warnings: readonly Warning[];
}

export interface ExportRunSummary {
  readonly object: 'homology_export_summary';
  /** Run id. */
  readonly run_id: string;
  /**
   * - `fasta`: each target once, in the order in which it was first found
   * - `tsv`: one line for each candidate, under a line of names: the table that `gloaming search
   * --format tsv --alignments` writes; positions zero-based and half-open, an absent value is an
   * empty cell
   * - `m8`: one line for each aligned candidate, in the twelve columns of BLAST outfmt 6; positions
   * from 1; where no calibration supports an E-value the count of searched targets stands, and a bit
   * score of 0
   * - `blast`: the same in the columns that `outfmt` names, with comments (`7`), or as BLAST XML
   * (`5`)
   * - `mmseqs`: the same in the columns of MMseqs2 that `format_output` names
   * - `a3m`: the alignment of one query: the query first, then the rows that `sequences.msa.build`
   * would keep, by the same defaults; of all queries in a tar with `all_queries`
   * - `parquet`: one row for each candidate, with all of its measurements
   * - `arrow`: the columns of `parquet` as an Arrow IPC file
   */
  readonly format: 'fasta' | 'tsv' | 'm8' | 'blast' | 'mmseqs' | 'a3m' | 'parquet' | 'arrow';
  /** The query whose candidates they are. */
  readonly query_index?: number;
  /** Records of the file: lines, rows or sequences, without the query of an A3M. */
  readonly record_count: number;
  /** Candidates that are no record: not aligned, left out, or a target that is one already. */
  readonly omitted_count: number;
  /** Those of them that a cut-off left out. */
  readonly left_out_count?: number;
  readonly warnings?: readonly Warning[];
  readonly file: RunFile;
}

export interface RunFile {
  /** Names the bytes: `obj_` and their SHA-256. Equal bytes have equal ids, whoever wrote them. */
  readonly object_id?: string;
  /**
   * Serves these bytes and never others: once the file is replaced it is gone (410), once deleted
   * not found.
   */
  readonly object_url?: string;
  /** File id. */
  readonly file_id: string;
  /** Where it stands in the storage of the organization. */
  readonly path: string;
  /** Its ordinary URL; `POST /v1/storage/file-signed-urls` makes one without credentials of it. */
  readonly url: string;
  /** Media type. */
  readonly content_type: string;
  /** Its length. */
  readonly size_bytes: number;
  /** SHA-256 of its bytes: equal content is stored once. */
  readonly checksum: string;
  readonly checksum_algorithm: 'sha256';
  /** Version of the file. */
  readonly storage_version: string;
}

export interface MsaRunSummary {
  readonly object: 'msa_build_summary';
  readonly msa: Msa;
  readonly warnings: readonly Warning[];
}

/** How an immutable alignment was made, and of what. */
export interface Msa {
  readonly object: 'msa';
  /** Id of a multiple sequence alignment: it names its content and how it was made. */
  readonly id: string;
  readonly format: 'gloaming-msa/1';
  /** Receipt id: it names the content. */
  readonly receipt_id: string;
  /** Exact immutable release. */
  readonly release_id: string;
  readonly query: {
    /** Residues of the query, and columns of the alignment. */
    readonly length: number;
    /** SHA-256 of the normalised query. */
    readonly sha256: string;
  };
  readonly component_ids?: readonly string[];
  readonly parameters: {
    /** Rows at most, the query included. Default: 5000. */
    readonly maximum_depth?: number;
    /** Greatest sequence identity with the query. Default: 1. */
    readonly maximum_sequence_identity_ratio?: number;
    /**
     * Greatest sequence identity of two rows over the columns in which both have a residue: of two
     * that are more alike the first stays, and the query always does. 1 leaves all. Default: 0.95.
     */
    readonly maximum_pairwise_identity_ratio?: number;
    /**
     * Rows must differ by more than that, as far as every 50 columns keep this many of them: what
     * `hhfilter -diff` does. 0, the default, asks for no more.
     */
    readonly diverse_row_count?: number;
    /**
     * Least normalised affine score. Default: 0.25 where no calibration gives any candidate an
     * E-value, else 0.
     */
    readonly minimum_normalized_score?: number;
    /**
     * Which rows stay where more are left than the depth allows. Their order stays.
     * - `identity_strata`: ten classes of sequence identity with the query, 0.1 wide, take turns from
     * the highest, each giving its first in the order `sort`
     * - `rank`: the first in the order `sort` Default: "identity_strata".
     */
    readonly selection?: 'identity_strata' | 'rank';
    /** Least aligned stretch of the query ÷ its length. Default: 0.5. */
    readonly minimum_query_coverage_ratio?: number;
    /** Least aligned stretch of the target ÷ its length. */
    readonly minimum_target_coverage_ratio?: number;
    /** Least sequence identity with the query. Default: 0. */
    readonly minimum_sequence_identity_ratio?: number;
    /**
     * Greatest E-value; candidates without one are left out. Default: 0.001 where a calibration gives
     * any of them one; else a normalised affine score of 0.25 is asked for instead, and a warning says
     * so.
     */
    readonly maximum_expected_false_hits?: number;
    /**
     * Order of the candidates of each query.
     * - `rank`: by distance, as the search ranked them
     * - `evalue`: by E-value, those without one last; equal ones by score, then by rank
     * - `score`: by affine score, best first; equal ones by rank
     */
    readonly sort?: 'rank' | 'evalue' | 'score';
  };
  /** Where the E-values in the headers come from. */
  readonly calibration_id?: string;
  /** Candidates that could become rows. */
  readonly candidate_count: number;
  /** Those without a pair of residues that scores above zero. */
  readonly unaligned_count: number;
  /** Those that coverage, identity or E-value excludes. */
  readonly filtered_count: number;
  /** Those whose row equals one before it, the query included. */
  readonly duplicate_count: number;
  /** Those that are too much like a row before them. */
  readonly redundant_count?: number;
  /** Those that the depth leaves out. */
  readonly beyond_depth_count: number;
  /** Rows, the query included. */
  readonly row_count: number;
  /** SHA-256 of the A3M text. */
  readonly a3m_sha256: string;
  /** Length of the A3M text. */
  readonly a3m_bytes: number;
}

export interface RelativesRunSummary {
  readonly object: 'protein_relatives_summary';
  readonly database: {
    /** Database id. */
    readonly id: string;
    /** Release whose targets have relatives. */
    readonly release_id: string;
    /** Name of the database. */
    readonly slug: string;
  };
  readonly query: HomologyCandidateSet['query'];
  readonly warnings: readonly Warning[];
}

/** Files of the operator's own predictor, as it wrote them. */
export interface StructureRunSummary {
  readonly object: 'structure_prediction_summary';
  /** SHA-256 of the alignment that the predictor was given. */
  readonly a3m_sha256: string;
  /** What it wrote, by path. */
  readonly files: readonly RunFile[];
  readonly log: RunFile;
  /** How long it took. */
  readonly predictor_seconds: number;
}

export interface RunList {
  readonly object: 'list';
  readonly data: readonly Run[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RunResultList {
  readonly object: 'list';
  readonly data: readonly (HomologyCandidate | HomologyQueryResult | ProteinRelative)[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface HomologyQueryResult {
  readonly object: 'homology_query_result';
  /** Position of the query in the input; the first is 0. */
  readonly query_index: number;
  /** Your name of the query; its position where it had none. */
  readonly query_id: string;
  readonly query: HomologyCandidateSet['query'];
  /** Closest first. */
  readonly candidates: readonly HomologyCandidate[];
  readonly evidence_summary: HomologyCandidateSet['evidence_summary'];
  /** True when more ranked targets existed beyond `limit`. */
  readonly is_result_limit_reached: boolean;
  readonly receipt: HomologyCandidateSet['receipt'];
  /** Names what was found: equal searches have equal values on every machine. */
  readonly result_sha256: string;
  /** Candidates that cut-offs left out; present where any were asked for. `result_sha256` is of all. */
  readonly left_out_count?: number;
}

/** A relative as the search of the background aligned it; the nearest come first. */
export interface ProteinRelative {
  /** Id of the relative in the background. */
  readonly id: string;
  /** E-value of the search of the background that found it. */
  readonly expected_false_hits: number;
  /** Round of that search which found it first. */
  readonly round: number;
  /** Aligned stretch of the query ÷ its length. */
  readonly query_coverage_ratio: number;
  /** Identical residues ÷ columns of the alignment, gaps included. */
  readonly sequence_identity_ratio: number;
  /** Extended CIGAR (`=`, `X`, `I`, `D`), seen from the query. */
  readonly cigar: string;
  /** Position of the first aligned query residue; the first residue of all is 0. */
  readonly query_start: number;
  /** Position after the last aligned query residue. */
  readonly query_end: number;
  /** Position of the first aligned residue of the relative. */
  readonly target_start: number;
  /** Position after its last aligned residue. */
  readonly target_end: number;
  /** Residues of the relative. */
  readonly target_length: number;
  /** Residues of the relative from `target_start` to `target_end`. */
  readonly residues: string;
}

export interface RunEvent {
  /**
   * - `run.queued`: accepted
   * - `run.running`: work has started
   * - `run.progress`: work goes on; not kept, so it has no event id
   * - `run.completed`: finished, with its result
   * - `run.failed`: ended without a result
   * - `run.cancelled`: ended by its owner
   */
  readonly type:
    'run.queued' | 'run.running' | 'run.progress' | 'run.completed' | 'run.failed' | 'run.cancelled';
  /** When it happened. */
  readonly timestamp: string;
  readonly data: {
    /** Run id. */
    readonly run_id: string;
    /**
     * - `homology.search`: one protein against one release, with up to 10,000 retained candidates
     * - `homology.batch_search`: up to 100,000 proteins against one release
     * - `homology.export`: the rows of a run as a file: FASTA, tables of several tools, A3M, Parquet
     * or Arrow
     * - `sequences.msa.build`: a multiple sequence alignment of the candidates of a receipt
     * - `sequences.relatives`: the relatives of one protein in the background of a release whose
     * targets have relatives
     * - `structure.predict`: a structure from an alignment, by the operator's own predictor; refused
     * where there is none
     */
    readonly endpoint:
      | 'homology.search'
      | 'homology.batch_search'
      | 'homology.export'
      | 'sequences.msa.build'
      | 'sequences.relatives'
      | 'structure.predict';
    /**
     * - `queued`: accepted; work has not started
     * - `running`: at work; a restarted server goes on with it
     * - `completed`: finished, with its result
     * - `failed`: ended without a result; `error` says why
     * - `cancelled`: ended by its owner
     */
    readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
    readonly progress?: Run['progress'];
  };
}
