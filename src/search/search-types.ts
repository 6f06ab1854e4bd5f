import type { Calibration } from '../significance/calibration.js';
import type { ProbabilityCard } from '../significance/probability.js';
import type { Qualification } from '../recall/policy-sidecar.js';
import type { Release, TargetSpace } from '../release/release.js';
import type { Codebook } from '../kernels/codebook.js';
import type {
  KernelBackend,
  KernelOptions,
  KernelRetry,
  MaxSimSums,
  QueryTokens,
  SweptSums,
  TokenStore,
} from '../kernels/kernels.js';
import type { Encoder } from '../encoder/encoder.js';
import type { SelectedHomologSet } from '../homologs/finder.js';
import type { ProfileEncoder } from '../homologs/profile-encoder.js';
import type { ProteinMoments } from '../significance/moments.js';
import type { AlignmentSignificance, CandidateSignificance } from './pairs/candidate-significance.js';

export type Guarantee = 'approximate' | 'exhaustive';
export type EvidenceRequest = 'candidate_measurement' | 'pairwise_sequence_alignment';
export type SignificanceRequirement = 'not_requested' | 'if_available' | 'required';

/** A protein query after sequence/protein.ts: upper case, documented letters only, 1..65,535 residues. */
export interface ProteinQuery {
  /** The caller's own name (FASTA id); absent over HTTP. */
  readonly id?: string;
  readonly sequence: string;
  readonly normalizationId: string;
  /** Present if the query is a family, whose consensus is the sequence. It takes the place of found homologs. */
  readonly homologSet?: SelectedHomologSet;
}

/** A query of a FASTA file. */
export interface NamedQuery extends ProteinQuery {
  readonly id: string;
  readonly description?: string;
}

/** Whether a query gets homologs, as the targets of its release did, or is compared without. */
export type QueryHomologs = 'as_release' | 'none';

/** A query and its tokens. */
export interface EncodedQuery extends ProteinQuery {
  readonly tokens: QueryTokens;
  /**
   * Whether the tokens are means over the query's homologs in a release whose targets have none. The reversed-query
   * control then reverses the tokens, because the encoder would give those of the query alone. Default: false.
   */
  readonly hasMeanTokens?: boolean;
  /** Tokens of the sequence read backwards, which the reversed-query control would otherwise encode. */
  readonly reversedTokens?: QueryTokens;
  /** Present if the release's targets have homologs. */
  readonly relatives?: SearchedHomologs;
  /** Moments of the tokens, if they were needed before the search. */
  readonly moments?: ProteinMoments;
}

/** Homologs of one query. */
export interface SearchedHomologs {
  readonly count: number;
  /** Time to find them for all queries of the call; near 0 if they were cached. */
  readonly elapsedMs: number;
}

/** A search of one release with one query. */
export interface SearchRequest {
  readonly query: ProteinQuery;
  readonly targetSpace: TargetSpace;
  /** 1..10,000. */
  readonly limit: number;
  readonly evidence: EvidenceRequest;
  readonly guarantee: Guarantee;
  readonly significance: SignificanceRequirement;
  /** Default `as_release`; ignored if the targets have no homologs. */
  readonly relatives?: QueryHomologs;
  /** Further alignments of aligned candidates that have E-values. Default: the best alignment only. */
  readonly alignments?: AlignmentBounds;
  /** Residues of each query that are searched alone; positions in the result are those of the whole. Default: all. */
  readonly queryRange?: QueryRange;
  /** Targets that E-values count false hits among, 1..10¹². Default: the searched ones. */
  readonly databaseSize?: number;
  /** Whether judged candidates get a probability of homology. Default: `not_requested`. */
  readonly probability?: SignificanceRequirement;
}

/** A stretch of a query. Zero-based and half-open. */
export interface QueryRange {
  readonly start: number;
  readonly end: number;
}

/** Which further alignments of one candidate a search returns. */
export interface AlignmentBounds {
  /** Most alignments of one candidate, the best included. Range  1..PAIR_ALIGNMENTS_MAX_COUNT */
  readonly maxCount: number;
  /** Largest E-value of a further alignment, conditional where the target is accepted (pairs/accepted.ts). */
  readonly maxEValue: number;
}

/** Release, its tokens in a backend, the encoder that made them, and the cards of the release. */
export interface SearchEngine {
  readonly release: Release;
  readonly encoder: Encoder;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  /** Finds the homologs of queries; present if the targets have homologs. */
  readonly profileEncoder?: ProfileEncoder;
  /** Qualified null model of the release; absent if it has none. */
  readonly calibration?: Calibration;
  /** Probabilities of homology by E-value; absent if the encoder has no table for such releases. */
  readonly probability?: ProbabilityCard;
  /** Measured recall of the release's approximate policy; absent if no policy is qualified. */
  readonly qualification?: Qualification;
  /** Centroid ids of the targets' residues; present if the qualified policy looks them up. */
  readonly codebook?: Codebook;
  /** Threads for the kernels; the result does not depend on it. */
  readonly threads?: number;
  /** Lets direct searches go first; the result does not depend on it. */
  readonly isLowPriority?: boolean;
  /** Scan by other appliances (partitions/); absent if this process scans the targets. */
  readonly scan?: Scan;
  /** Latest monotonic time at which other appliances may start; absent = no start deadline. */
  readonly startDeadlineMs?: number;
}

/** Settings that all queries of one call share. */
export interface SearchSettings extends Omit<SearchRequest, 'query'> {
  /** Largest E-value of a candidate that is aligned, if alignments are requested. Default: all are aligned. */
  readonly alignedMaxEValue?: number;
  /**
   * Largest E-value of a candidate that the caller uses. A candidate that has a greater one before its reversed-query
   * control keeps it, because a control never lowers an E-value. The used candidates stay the same, and so do their
   * values, except `rank`, which counts the others. Default: all high-scoring candidates are controlled.
   */
  readonly usedMaxEValue?: number;
}

/**
 * A search policy as a value (plan.ts). `search.ts` calls its functions in this order and takes no decision on the
 * policy itself.
 */
export interface SearchPlan {
  readonly policy: ResolvedPolicy;
  /** Significance that the policy needs; at least the requested one. */
  readonly significance: SignificanceRequirement;
  /** Partial results that partitions of the release contribute. */
  readonly partial: PartialScan;
  /** Most targets that are ranked for one query; Infinity for all that were compared. */
  readonly rankedCount: number;
  /** Compares each query; the remaining work of one query starts when its function is called. */
  compare(
    queries: readonly EncodedQuery[],
    scanned: ScannedTargets,
    work: ScanWork,
  ): Promise<readonly (() => Promise<Compared>)[]>;
  rescore(
    query: EncodedQuery,
    ranked: readonly Ranked[],
    compared: Compared,
    engine: SearchEngine,
    options: KernelOptions,
  ): Promise<Rescored>;
  /** Selects the listed candidates among the judged ones. */
  choose(candidates: readonly Candidate[]): readonly Candidate[];
}

/**
 * Opens a scan of the eligible targets. The kernels run when one of its sums is requested.
 * Errors  of the functions: Refusal `encoder_changed` if partial results are of other tokens
 */
export type Scan = (
  queries: readonly EncodedQuery[],
  settings: SearchSettings,
  work: ScanWork,
) => ScannedTargets;

/** Sums of each query, in the order of the queries. Errors  those of the kernels, or of the workers */
export interface ScannedTargets {
  /** Exact sums with all eligible targets, or with those that can be among the `limit` nearest. */
  nearest(): Promise<readonly TargetSums[]>;
  /** Sums of at most COARSE_ROWS rows with all eligible targets, or with those that can be prefilter hits. */
  sweep(counts: RescoreCounts): Promise<readonly TargetSweep[]>;
}

export interface TargetSums extends MaxSimSums {
  /** Targets of the sums, ascending; undefined for all targets of the release. */
  readonly targets: Uint32Array | undefined;
}

export interface TargetSweep extends SweptSums {
  /** Targets of the sums, ascending; undefined for all targets of the release. */
  readonly targets: Uint32Array | undefined;
}

export interface ScanWork {
  readonly engine: SearchEngine;
  /** For work on all queries together. */
  readonly options: KernelOptions;
  /** For work on one query while others are at work: with its share of the threads. */
  readonly optionsOf: (query: EncodedQuery) => KernelOptions;
}

/** The scan of one partition by one policy. */
export interface PartialScan {
  /** Columns of a partial result: targets and two sums, and the excess if the sums are of a few rows. */
  readonly columns: 3 | 4;
  /** Counts of the sampled policy; undefined for exact sums. */
  readonly sampled: RescoreCounts | undefined;
  /** Bounds on the targets of a partial result, among so many eligible targets of the partition. */
  countsAmong(eligibleCount: number): PartialResultCounts;
  scan(
    queries: readonly QueryTokens[],
    targets: PartitionTargets,
    engine: Pick<SearchEngine, 'release' | 'backend' | 'store'>,
    options: KernelOptions,
  ): Promise<readonly PartialSums[]>;
}

export interface PartialResultCounts {
  readonly least: number;
  readonly most: number;
}

/** Eligible targets of a partition, by their index in the release and by their position in the store. */
export interface PartitionTargets {
  readonly targets: Uint32Array;
  /** Index in the release of the store's first target. */
  readonly storeFrom: number;
  /** Undefined for all targets of the store. */
  readonly inStore: Uint32Array | undefined;
}

/** Sums of one query with the best targets of a partition. Order  targets ascend */
export interface PartialSums {
  readonly targets: Uint32Array;
  readonly queryToTarget: Int32Array;
  readonly targetToQuery: Int32Array;
  /** Present if the sums are of a few rows of the query. */
  readonly queryExcess?: Int32Array;
}

/** Sums of one query before they are ranked. */
export interface Compared {
  /** Targets of the sums, ascending; undefined for all targets of the release. */
  readonly targets: Uint32Array | undefined;
  readonly sums: MaxSimSums;
  /** Scores of the same targets; present if all of them are rescored. */
  readonly affineScores?: Int32Array;
  /** Eligible targets that the prefilter left; all of them if there is no prefilter. */
  readonly prefilteredCount: number;
  /** Sums with the calibration's reference set, in its order; absent if nothing is judged. */
  readonly referenceSums?: MaxSimSums;
  /** Present if a device failed and the CPU served in its place. */
  readonly retry?: KernelRetry;
}

/** A candidate after ranking. */
export type Ranked = Pick<
  Candidate,
  'rank' | 'targetIndex' | 'queryToTargetSum' | 'targetToQuerySum' | 'maxsim'
>;

/** A candidate before it is judged and aligned. */
export type Scored = Ranked & Pick<Candidate, 'affine'>;

/** Candidates of one query with their affine scores, by rank. */
export interface Rescored {
  readonly candidates: readonly Scored[];
  /** Present if a device failed and the CPU served in its place. */
  readonly retry?: KernelRetry;
}

/** Candidates that a prefilter policy rescores. */
export interface RescoreCounts {
  /** Nearest targets by MaxSim of the sampled rows, both directions. Codebook policy: at most so many in all. */
  readonly nearestCount: number;
  /** Targets with the best local matches, such as a domain of a longer protein. */
  readonly localCount: number;
}

export interface ResolvedPolicy {
  readonly id: string;
  readonly requestedGuarantee: Guarantee;
  readonly resolvedGuarantee: Guarantee;
  readonly isExhaustive: boolean;
  readonly isFallback: boolean;
  readonly resolutionReason:
    | 'exhaustive_requested'
    | 'qualified_approximate_policy'
    | 'no_qualified_approximate_policy'
    | 'limit_exceeds_qualified_policy';
  /** Present if a prefilter policy answers. */
  readonly sampled?: RescoreCounts & {
    /** `qual_…`: id of the card with the policy's measured recall. */
    readonly qualificationId: string;
    /** Whether centroid ids are looked up before rows are swept. */
    readonly usesCodebook: boolean;
    /** Targets that the codebook leaves; present with `usesCodebook`. */
    readonly poolCount?: number;
    /** Measured losses against the exhaustive answer, as text. */
    readonly losses: string;
  };
}

/** Exact integers of one candidate, with the distances derived from them. */
export interface Candidate {
  readonly rank: number;
  /**
   * Place by evidence, from 1, among all candidates that a prefilter policy rescored. Its list has the first `limit`.
   * Absent in an exhaustive search, whose list has the first `limit` by distance.
   */
  readonly evidenceRank?: number;
  readonly targetIndex: number;
  readonly queryToTargetSum: number;
  readonly targetToQuerySum: number;
  readonly maxsim: {
    readonly bidirectional: number;
    readonly queryToTarget: number;
    readonly targetToQuery: number;
  };
  readonly affine: { readonly rawScore: number; readonly normalizedScore: number };
  readonly alignment?: PairwiseAlignment;
  /** Present if the search asked for further alignments. */
  readonly further?: FurtherAlignments;
  readonly significance: CandidateSignificance;
}

/** Alignments of a candidate after the best one. Order  descending scores in the tokens of the whole proteins */
export interface FurtherAlignments {
  /** The best alignment in the tokens of its own stretches; absent if it is that of the whole proteins. */
  readonly best?: FurtherAlignment;
  readonly alignments: readonly FurtherAlignment[];
  /** Whether the largest count left out at least one more alignment. */
  readonly isCut: boolean;
  /**
   * ln of the share of the searched targets that the list accepts by the cut-off. Added to the ln of the E-value of an
   * alignment, it gives that of its conditional E-value. Absent if this target is not accepted.
   */
  readonly logAcceptedShare?: number;
}

/** An alignment of a pair that overlaps no other one in query and target at once (further.ts). */
export interface FurtherAlignment extends PairwiseAlignment {
  readonly rawScore: number;
  readonly significance: AlignmentSignificance;
}

/** Zero-based half-open coordinates; extended CIGAR (`=`, `X`, `I`, `D`). */
export interface PairwiseAlignment {
  readonly alignedResidueCount: number;
  readonly cigar: string;
  readonly gapOpeningCount: number;
  readonly gapResidueCount: number;
  readonly identicalResidueCount: number;
  readonly queryCoverageRatio: number;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly queryLength: number;
  readonly sequenceIdentityRatio: number;
  readonly targetCoverageRatio: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  readonly targetLength: number;
}

export interface SearchResult {
  readonly candidates: readonly Candidate[];
  /** True if the target space has more targets than the limit. */
  readonly isResultLimitReached: boolean;
  readonly policy: ResolvedPolicy;
  readonly queryLength: number;
  readonly queryTokensSha256: string;
  /** Present if the release's targets have homologs. */
  readonly relatives?: SearchedHomologs;
  readonly resultSha256: string;
  readonly funnel: Funnel;
  /** Present if a device failed and the CPU served in its place. */
  readonly kernelRetry?: KernelRetry;
}

/**
 * Targets that each stage of one search left. Not part of the result's digest.
 * Unit    targets
 * Range   eligible ≥ prefiltered ≥ rescored ≥ listed ≥ aligned ≥ 0
 */
export interface Funnel {
  /** Targets of the target space. */
  readonly eligible: number;
  /** Left by the prefilter; all eligible ones if there is no prefilter. */
  readonly prefiltered: number;
  /** With an affine score. */
  readonly rescored: number;
  /** Listed candidates with an alignment. */
  readonly aligned: number;
  readonly listed: number;
}
