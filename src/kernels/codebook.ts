import {
  loadAddon,
  run,
  withShapes,
  type CodesHandle as CodebookHandle,
  type CodeSumsHandle,
  type KmerScoresHandle,
  type LettersHandle,
} from './addon.js';
import type { CodebookHits, CodebookSums, KernelOptions, QueryTokens } from './kernels.js';

/*
 * Search by the centroid ids of residues. Centroids are rows on two levels, 4,096 parents with 16 children each. The
 * centroid id of a residue names its closest child. Amino acids are read beside the centroid ids: what shares similar
 * k-mers with a query is an evident homolog. The CPU computes all of it, with any backend.
 */

/** Centroids in all: every value of 16 bits. */
export const CENTROID_COUNT = 65_536;
export const WORD_CHILDREN = 16;
/** Queries of one look-up; fewer queries take as long. */
export const CODED_QUERIES = 32;
/** Low bits that are cut off, so that a dot product of the table fits in eight bits. */
export const TABLE_SHIFT = 7;

/** Centroids, and a file with the centroid id of each residue of each target, little-endian uint16. */
export interface CodebookSource {
  readonly dimension: number;
  /** As in TokenSource. */
  readonly residueStarts: Uint32Array;
  /** [CENTROID_COUNT × dimension], squared norm of each row ≤ 32,767. */
  readonly centroids: Int8Array;
  readonly path: string;
  /** Returns an ASCII character per residue, one target after the other. The first sweep calls it once. */
  readonly text: () => Promise<Uint8Array>;
}

/** Queries of one look-up. */
export interface LookedUp {
  /** Evenly spread rows of each query. */
  readonly queries: readonly QueryTokens[];
  /** Of each whole query. */
  readonly sequences: readonly string[];
}

export interface Codebook {
  /**
   * Best targets of each query.
   * Shape   one value per query, in order
   * Range   1..CODED_QUERIES queries; floor 0..255, a dot product >> TABLE_SHIFT; at most `count` targets
   * Errors  those of a KernelBackend
   * @param eligible  target indices, ascending; undefined for all
   */
  hits(
    queries: LookedUp,
    eligible: Uint32Array | undefined,
    floor: number,
    count: number,
    options?: KernelOptions,
  ): Promise<readonly CodebookHits[]>;
  /** Coarse scores that the hits are chosen by; otherwise as `hits`. */
  sweep(
    queries: LookedUp,
    eligible: Uint32Array | undefined,
    floor: number,
    options?: KernelOptions,
  ): Promise<readonly CodebookSums[]>;
}

/**
 * Opens the centroid ids of a release. The file stays mapped until the last reference is gone. From the first sweep on,
 * the amino acids of all targets are in memory, a byte per residue.
 * Default  variant: GLOAMING_KERNELS of the environment, then the fastest that runs here; the result is the same
 * Errors   Fault if the file cannot be read or is too short; an assertion for a wrong shape
 */
export function openCodebook(
  { dimension, residueStarts, centroids, path, text }: CodebookSource,
  variant = process.env.GLOAMING_KERNELS,
): Codebook {
  const addon = loadAddon();
  const name = addon.choose(variant);
  const codebook: CodebookHandle = withShapes(() =>
    addon.openCodes(name, residueStarts, dimension, centroids, path),
  );
  let letters: Promise<LettersHandle> | undefined;
  const openLetters = async (): Promise<LettersHandle> => {
    const characters = await text();
    return withShapes(() => addon.openLetters(name, residueStarts, characters));
  };
  const lookUp = async (
    { queries, sequences }: LookedUp,
    eligible: Uint32Array | undefined,
    floor: number,
    options: KernelOptions,
  ): Promise<{ readonly sums: CodeSumsHandle; readonly kmers: KmerScoresHandle }> => {
    const opened = await (letters ??= openLetters());
    const texts = sequences.map((sequence) => Buffer.from(sequence, 'latin1'));
    const kmers = await run<KmerScoresHandle>(addon, options, (threads, isLowPriority, callback) =>
      addon.kmerScores(opened, texts, eligible, threads, isLowPriority, callback),
    );
    const table = await run<Uint16Array>(addon, options, (threads, isLowPriority, callback) =>
      addon.codeTable(codebook, queries, threads, isLowPriority, callback),
    );
    const lengths = Uint32Array.from(sequences, ({ length }) => length);
    const sums = await run<CodeSumsHandle>(addon, options, (threads, isLowPriority, callback) =>
      addon.codeSums(codebook, table, lengths, eligible, floor, threads, isLowPriority, callback),
    );
    return { sums, kmers };
  };
  return {
    async hits(queries, eligible, floor, count, options = {}) {
      const { sums, kmers } = await lookUp(queries, eligible, floor, options);
      return run(addon, options, (threads, isLowPriority, callback) =>
        addon.hits(codebook, sums, kmers, eligible, count, threads, isLowPriority, callback),
      );
    },
    async sweep(queries, eligible, floor, options = {}) {
      const { sums, kmers } = await lookUp(queries, eligible, floor, options);
      return addon.coarseScores(sums, kmers);
    },
  };
}

/**
 * Returns the closest centroid of each row, the first of equally close ones: a parent or, if there are children,
 * parent × WORD_CHILDREN + child.
 * Shape   parents [1..4,096 × dimension], children WORD_CHILDREN rows for each of them, rows [count × dimension]
 * Unit    centroid ids
 * Range   0..CENTROID_COUNT − 1
 * Errors  those of a KernelBackend
 * Cost    a dot product with each parent, and with the children of one
 */
export function assignCentroids(
  { dimension, parents, children }: Centroids,
  rows: Int8Array,
  options: KernelOptions = {},
): Promise<Uint16Array> {
  const addon = loadAddon();
  return run(addon, options, (threads, isLowPriority, callback) =>
    addon.assign(dimension, parents, children, rows, threads, isLowPriority, callback),
  );
}

export interface Centroids {
  readonly dimension: number;
  readonly parents: Int8Array;
  readonly children?: Int8Array;
}
