/*
 * The one interface of all backends (native CPU, CUDA, TensorFlow). Everything that crosses it is an integer,
 * so that backends can be compared bit for bit; kernels/reference/ defines the numbers.
 */

/** Bytes of a residue's profile: 20 values, one for each amino acid in the order of `AMINO_ACIDS`, and zeros. */
export const PROFILE_WIDTH = 32;

/** Residue tokens of one protein: int8 [length × dimension], row-major, squared norm of each row ≤ 32,767. */
export interface QueryTokens {
  readonly values: Int8Array;
  readonly length: number;
  /**
   * Amino acid frequencies of a protein's homologs at each residue: [length × PROFILE_WIDTH], row-major; absent without
   * homologs. A value is round(scale × frequency ÷ √background), at most 127. The dot product of two rows is therefore
   * scale² × Σ q p ÷ background, symmetric in both.
   * Range  values 0..127, squared norm of each row ≤ 32,767
   */
  readonly profile?: Int8Array;
  /** Effective number of sequences of the profile, 1..65; present with a profile. No kernel reads it. */
  readonly effectiveSequences?: number;
}

/** Location of a release's tokens. Target t has rows residueStarts[t] … residueStarts[t + 1] − 1. */
export interface TokenSource {
  /** 32, 64, 96, 128 … 256; a multiple of 32. */
  readonly dimension: number;
  /** Length targetCount + 1, ascending, starts with 0, ends with the residue count; each target has 1..65,535 rows. */
  readonly residueStarts: Uint32Array;
  /** Row-major int8 tokens: a range of a file (mapped, never read whole) or memory. */
  readonly tokens: RowSource;
  /** Profiles of the same rows (`QueryTokens`); absent if the release has none. */
  readonly profiles?: RowSource;
}

/** Row-major int8 rows of all targets, one target after the other. */
export type RowSource =
  { readonly path: string; readonly byteOffset: number } | { readonly values: Int8Array };

/** Tokens that a backend has opened. A store may be closed during a call: its memory is freed when the call ends. */
export interface TokenStore {
  readonly dimension: number;
  readonly targetCount: number;
  readonly residueCount: number;
  close(): void;
  /** Closes the store when the last reference is gone, because other searches may be between two calls. */
  abandon(): void;
}

export interface KernelOptions {
  readonly signal?: AbortSignal;
  /** 1..256; default: the backend's own choice (the cores of the machine). The result does not depend on it. */
  readonly threads?: number;
  /** Yields to calls without this option. Default false; a backend that cannot yield runs calls in turn. */
  readonly isLowPriority?: boolean;
}

/** A device failed, and the CPU did its work; the result is the same. */
export interface KernelRetry {
  /** `native:avx512vnni`. */
  readonly servedBy: string;
  /** Error of the device; for the log. */
  readonly cause: Error;
}

/**
 * Sums of closest dot products for each eligible target, in the order of the eligible list.
 * Unit    integer dot products (inverse_step² is cosine 1)
 * Range   int32: 65,535 rows × 32,767 fits
 */
export interface MaxSimSums {
  /** Σ over query rows of the best dot product with any row of the target. */
  readonly queryToTarget: Int32Array;
  /** Σ over target rows of the best dot product with any row of the query. */
  readonly targetToQuery: Int32Array;
  /** Present if a device failed and the CPU served in its place. */
  readonly retry?: KernelRetry;
}

/** Sums of a sweep with a few rows of a query. */
export interface SweptSums extends MaxSimSums {
  /** Σ over query rows of max(0, best dot product with any row of the target − floor). */
  readonly queryExcess: Int32Array;
}

/**
 * Coarse scores of each target by the centroid ids and the amino acids of its residues, in the order of the eligible
 * list.
 * Range 0 and more
 */
export interface CodebookSums {
  /** Σ over the residues of max(0, best dot product with any row − floor). Unit: dot products >> TABLE_SHIFT */
  readonly excess: Uint32Array;
  /**
   * Votes of the residues for the best band of diagonals. A residue votes for its place less that of the query row that
   * is closest to its centroid. Unit: octaves of rarity, summed. Range: at most 65,535
   */
  readonly votes: Uint32Array;
  /**
   * Best ungapped BLOSUM62 score around a pair of similar k-mers of five amino acids. Unit: half bits. Range: 0 without
   * such a pair, 24 and more with one
   */
  readonly kmers: Uint32Array;
}

/**
 * Targets with the least product of their ranks by excess, by votes and by k-mers (`CodebookSums`), of one query.
 * Shape   arrays of equal length
 */
export interface CodebookHits {
  /** Ascending. A target without any score is none of them. */
  readonly targets: Uint32Array;
  /** Scores by k-mers above chance. Unit: half bits. Range: 0 and more */
  readonly kmers: Uint32Array;
  /** Places in the order of the products. Range: 0, the best, to the number of hits − 1 */
  readonly ranks: Uint32Array;
}

/**
 * Affine scores of a query with listed targets, in list order.
 * Unit  best local alignment score
 */
export interface AffineScores {
  readonly scores: Int32Array;
  /** Present if a device failed and the CPU served in its place. */
  readonly retry?: KernelRetry;
}

/** MaxSim sums and affine scores of the same pairs, computed from the same dot products. */
export interface PairMeasures extends MaxSimSums, AffineScores {}

/** Sums of some of the eligible targets. */
export interface NearestSums extends MaxSimSums {
  /** Targets of the sums, ascending. */
  readonly targets: Uint32Array;
}

/**
 * Parameters of affine local alignment.
 * The substitution score of two residues is ((dot × multiplier) >> 16) − offset, with an arithmetic shift, plus the
 * scores of their letters and profiles. A gap of k residues costs gapOpen + (k − 1) × gapExtend.
 *
 * Two profiles whose rows have the dot product x score (L × profileWeight) >> 16. L is log2((x + 1) ÷ 2) in 1,024ths,
 * linear between powers of two: 1,024 × (e − 2) + ((x + 1) << 10 >> e) with e = floor(log2(x + 1)).
 * Range   multiplier 1..32,767; offset −16,384..32,767, with letters 128 within that, with profiles −8,192 at
 *         least; 0 ≤ gapExtend ≤ gapOpen ≤ 4,095
 */
export interface AffineParameters {
  readonly multiplier: number;
  readonly offset: number;
  readonly gapOpen: number;
  readonly gapExtend: number;
  /** 1..32,767: a doubled dot product of profiles scores a 64th of it. Absent if profiles do not score. If present,
   * query and store must have profiles. */
  readonly profileWeight?: number;
  /** Absent if letters do not score. */
  readonly letters?: AffineLetters;
}

/** Scores of the letters of a query and of listed targets. A letter is the low five bits of its character. */
export interface AffineLetters {
  /** [32 × 32], by query and target letter, each −127..127. */
  readonly scores: Int8Array;
  /** One character per row of the query. */
  readonly query: Uint8Array;
  /** One character per row of the targets, one target after the other in list order. */
  readonly targets: Uint8Array;
}

/** Kinds of alignment runs, seen from the query: the bits of a run that RUN_KIND_MASK has. */
export const RUN_PAIR = 0;
/** Query residues that face a gap (CIGAR `I`). */
export const RUN_INSERTION = 1;
/** Target residues that face a gap (CIGAR `D`). */
export const RUN_DELETION = 2;
export const RUN_KIND_MASK = 3;

/**
 * Best local alignment of the query with one target. Coordinates are zero-based and half-open.
 * If no pair of rows scores above zero, score and coordinates are 0 and there are no runs.
 */
export interface AffineAlignment {
  readonly score: number;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  /** (length << 2 | kind) from start to end; adjacent runs differ in kind. */
  readonly runs: Uint32Array;
}

/** What the lists of `affineAlignAll` hold. */
export interface AlignmentListBounds {
  /** Least score of a further alignment, one per listed target; 1 or more. */
  readonly leastScores: Int32Array;
  /** Most alignments of one target. Range  1..PAIR_ALIGNMENTS_MAX_COUNT */
  readonly maxCount: number;
}

/** Alignments of the query with one target, the best first. kernels/reference/alignments.cpp defines them. */
export interface AffineAlignmentList {
  /** At least one; the first is that of `affineAlign`. No two overlap in the query and in the target at once. */
  readonly alignments: readonly AffineAlignment[];
  /** Whether another alignment with at least the least score would follow. */
  readonly isCut: boolean;
}

/**
 * Errors  all calls reject with the signal's reason when cancelled (within 20 ms); with Fault when the device or the
 *         file fails; with an assertion when a shape is wrong. A failed call leaves nothing half-written.
 */
export interface KernelBackend {
  /** `native`, `tensorflow`, `cuda`. */
  readonly name: string;
  /** Instruction set or device that serves: `avx512vnni`, `avx2`, `reference`, `tfjs-cpu` … */
  readonly variant: string;
  readonly version: string;
  open(source: TokenSource): Promise<TokenStore>;
  /** One result per query, in order; the eligible list (ascending target indices; absent = all) is shared by all. */
  maxsim(
    store: TokenStore,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    options?: KernelOptions,
  ): Promise<readonly MaxSimSums[]>;
  /**
   * The sums of `maxsim`, and for each target the excess of the query's rows above a floor.
   * Range  floor 0..32,767, a dot product
   */
  sweep(
    store: TokenStore,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    floor: number,
    options?: KernelOptions,
  ): Promise<readonly SweptSums[]>;
  /** The sums of `sweep` with a list of targets per query, ascending. Each target is read once for all queries. */
  sweepLists(
    store: TokenStore,
    queries: readonly QueryTokens[],
    lists: readonly Uint32Array[],
    floor: number,
    options?: KernelOptions,
  ): Promise<readonly SweptSums[]>;
  /**
   * Sums of `maxsim` for the targets that can be among the best `count` of each query in rank order (search/rank.ts):
   * at least those and all ties with the last one. Absent if a backend has all sums in main memory anyway.
   */
  nearest?(
    store: TokenStore,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    count: number,
    options?: KernelOptions,
  ): Promise<readonly NearestSums[]>;
  /** Best local score of the query with each listed target, in list order. */
  affineScores(
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    options?: KernelOptions,
  ): Promise<AffineScores>;
  /** Scores and sums of `maxsim`, in list order. On the CPU, it takes hardly longer than the scores alone. */
  measure(
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    options?: KernelOptions,
  ): Promise<PairMeasures>;
  /**
   * Best local score of the query's profile with that of each listed target, in list order. Pairs of columns count for
   * more where those before them are alike, too (kernels/profile_score.h).
   * Shape   query and store have profiles
   * Unit    16ths of a bit of log2(Σ q p ÷ background) − .1
   * Range   0..32,767, where it saturates
   */
  profileScores(
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    options?: KernelOptions,
  ): Promise<Int32Array>;
  /** Score and traceback of each listed target, in list order. */
  affineAlign(
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    options?: KernelOptions,
  ): Promise<readonly AffineAlignment[]>;
  /** All alignments of each listed target within the bounds, in list order. */
  affineAlignAll(
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    bounds: AlignmentListBounds,
    options?: KernelOptions,
  ): Promise<readonly AffineAlignmentList[]>;
}
