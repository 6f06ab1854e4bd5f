import { loadAddon, run, withShapes, type CodesHandle as CodebookHandle } from './addon.js';
import type { CodedSums as CodebookSums, KernelOptions, QueryTokens } from './kernels.js';

/*
 * Releases searched by the codes of their residues. Words are rows on two levels, 4,096 parents with 16 children each;
 * a residue's code is the child that it is closest to. The CPU serves all of it, whatever backend serves the rest.
 */

/** Words in all: as many as 16 bits name. */
export const CENTROID_COUNT = 65_536;
export const WORD_CHILDREN = 16;
/** Queries that are looked up together; fewer take as long. */
export const CODED_QUERIES = 32;
/** Dot products are looked up in eight bits: so many of the low ones are cut off. */
export const TABLE_SHIFT = 7;

/** What is searched: the words, and a file with the code of each residue of each target, little-endian uint16. */
export interface CodebookSource {
  readonly dimension: number;
  /** As in TokenSource. */
  readonly residueStarts: Uint32Array;
  /** [CODE_COUNT × dimension], squared norm of each row ≤ 32,767. */
  readonly centroids: Int8Array;
  readonly path: string;
}

export interface Codebook {
  /**
   * One result per query, in order.
   * Range   1..CODED_QUERIES queries; floor 0..255
   * Errors  those of a KernelBackend
   */
  sweep(
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    floor: number,
    options?: KernelOptions,
  ): Promise<readonly CodebookSums[]>;
}

/**
 * Opens the codes of a release; the file stays mapped until nobody holds them any more.
 * Default  variant: GLOAMING_KERNELS of the environment, then the fastest that runs here; the result is the same
 * Errors   Fault where the file cannot be read or is too short; an assertion where a shape is wrong
 */
export function openCodebook(
  { dimension, residueStarts, centroids, path }: CodebookSource,
  variant = process.env.GLOAMING_KERNELS,
): Codebook {
  const addon = loadAddon();
  const codebook: CodebookHandle = withShapes(() =>
    addon.openCodes(addon.choose(variant), residueStarts, dimension, centroids, path),
  );
  return {
    async sweep(queries, eligible, floor, options = {}) {
      const table = await run<Uint8Array>(addon, options, (threads, isLowPriority, callback) =>
        addon.codeTable(codebook, queries, threads, isLowPriority, callback),
      );
      return run<readonly CodebookSums[]>(addon, options, (threads, isLowPriority, callback) =>
        addon.codeSums(codebook, table, queries.length, eligible, floor, threads, isLowPriority, callback),
      );
    },
  };
}

/**
 * The word that each row is closest to, of equally close ones the first: a parent or, where there are children, the
 * parent × WORD_CHILDREN + the child.
 * Shape   parents [1..4,096 × dimension], children WORD_CHILDREN rows for each of them, rows [count × dimension]
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
