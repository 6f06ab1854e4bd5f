import type { Calibration } from '../significance/calibration.js';
import type { Qualification } from '../recall/policy-sidecar.js';
import type { Release, TargetSpace } from '../release/release.js';
import type { Codebook } from '../kernels/codebook.js';
import type {
  KernelBackend,
  KernelOptions,
  KernelRetry,
  MaxSimSums,
  QueryTokens,
  TokenStore,
} from '../kernels/kernels.js';
import type { Encoder } from '../encoder/encoder.js';
import type { ProfileEncoder } from '../homologs/profile-encoder.js';
import type { CandidateSignificance } from './candidate-significance.js';

export type Guarantee = 'approximate' | 'exhaustive';
export type EvidenceRequest = 'candidate_measurement' | 'pairwise_sequence_alignment';
export type SignificanceRequirement = 'not_requested' | 'if_available' | 'required';

/** A protein query after sequence/protein.ts: upper case, documented letters only, 1..65,535 residues. */
export interface ProteinQuery {
  /** The caller's own name for it (FASTA id); absent over HTTP. */
  readonly id?: string;
  readonly sequence: string;
  readonly normalizationId: string;
}

/** A query of a FASTA file. */
export interface NamedQuery extends ProteinQuery {
  readonly id: string;
  readonly description?: string;
}

/** Whether a query is given relatives, as the targets of its release were, or is compared as it stands. */
export type QueryHomologs = 'as_release' | 'none';

/** A query and its tokens. */
export interface EncodedQuery extends ProteinQuery {
  readonly tokens: QueryTokens;
  /** Present where the release's targets have relatives. */
  readonly relatives?: SearchedHomologs;
}

/** What a query's relatives were, and what it took to find them. */
export interface SearchedHomologs {
  readonly count: number;
  /** For all queries of the call; next to nothing where they were known. */
  readonly elapsedMs: number;
}

/** What is asked of one release. */
export interface SearchRequest {
  readonly query: ProteinQuery;
  readonly targetSpace: TargetSpace;
  /** 1..10,000. */
  readonly limit: number;
  readonly evidence: EvidenceRequest;
  readonly guarantee: Guarantee;
  readonly significance: SignificanceRequirement;
  /** Default `as_release`; without meaning where the targets have no relatives. */
  readonly relatives?: QueryHomologs;
}

/** What a search works with: a release, its tokens in a backend, and the encoder that made them. */
export interface SearchEngine {
  readonly release: Release;
  readonly encoder: Encoder;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  /** Present where the targets have relatives: gives queries theirs. */
  readonly profileEncoder?: ProfileEncoder;
  /** Qualified null of the release; absent where it has none. */
  readonly calibration?: Calibration;
  /** What the release's approximate policy has been measured to keep; absent where none is qualified. */
  readonly qualification?: Qualification;
  /** Codes of the targets' residues, where the qualified policy looks them up. */
  readonly codebook?: Codebook;
  /** Threads for the kernels; the result does not depend on it. */
  readonly threads?: number;
  /** Lets searches that somebody waits for go first; the result does not depend on it. */
  readonly isLowPriority?: boolean;
  /** How others look at the targets in our place (parts/); absent where they are looked at here. */
  readonly scan?: Scan;
  /** Latest monotonic time at which those others may begin; absent = no start deadline. */
  readonly startDeadlineMs?: number;
}

/** What all queries of one call share. */
export interface SearchSettings extends Omit<SearchRequest, 'query'> {
  /** Where alignments are asked for: candidates with larger E-values, or none, go without. Default: all are aligned. */
  readonly alignedMaxEValue?: number;
}

/**
 * Looks at all eligible targets, for every query; what is left to measure of one is measured when it is asked for. The
 * settings are those of the search, but for a significance that the policy itself needs.
 */
export type Scan = (
  queries: readonly EncodedQuery[],
  settings: SearchSettings,
  work: ScanWork,
) => Promise<readonly (() => Promise<Compared>)[]>;

export interface ScanWork {
  readonly policy: ResolvedPolicy;
  readonly engine: SearchEngine;
  /** Of what is done for all queries together. */
  readonly options: KernelOptions;
  /** Of what is done for one query while others are at work: with its share of the threads. */
  readonly optionsOf: (query: EncodedQuery) => KernelOptions;
}

/** One query's sums, before they are ranked. */
export interface Compared {
  /** What the sums are of, ascending; undefined for all targets of the release. */
  readonly targets: Uint32Array | undefined;
  readonly sums: MaxSimSums;
  /** Of the same targets; present where these are few, and all of them are rescored. */
  readonly affineScores?: Int32Array;
  /** Sums with the calibration's panel, in its order, for the judge; absent where nothing is judged. */
  readonly referenceSums?: MaxSimSums;
  /** Present where a device failed at any of it. */
  readonly retry?: KernelRetry;
}

/** How many of the eligible targets the sampled sweep leaves. */
export interface RescoreCounts {
  /** Nearest by MaxSim of the sampled rows, both directions. */
  readonly nearestCount: number;
  /** With rows of the query that stand out, whatever the rest of it is like: a domain in a longer protein. */
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
  /** Present where the sampled policy answers. */
  readonly sampled?: RescoreCounts & {
    /** `qual_…`: the card of what that keeps of the exhaustive answer. */
    readonly qualificationId: string;
    /** Whether codes are looked up before rows are swept. */
    readonly usesCodebook: boolean;
    /** What it was measured to lose of the exhaustive answer, for people. */
    readonly losses: string;
  };
}

/** Exact integers of one candidate; cosines and distances are derived from them once, when presented. */
export interface Candidate {
  readonly rank: number;
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
  readonly significance: CandidateSignificance;
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
  /** True when more ranked targets existed beyond the limit. */
  readonly isResultLimitReached: boolean;
  readonly policy: ResolvedPolicy;
  readonly queryLength: number;
  readonly queryTokensSha256: string;
  /** Present where the release's targets have relatives. */
  readonly relatives?: SearchedHomologs;
  readonly resultSha256: string;
  /** Present where a device failed and the CPU served in its place. */
  readonly kernelRetry?: KernelRetry;
}
