import { loadAddon, run, withShapes, type CodesHandle as CodebookHandle } from './addon.js';
import type { CodebookSums, KernelOptions, QueryTokens } from './kernels.js';

/*
 * Search by the centroid ids of residues. Centroids are rows on two levels, 4,096 parents with 16 children each. The
 * centroid id of a residue names its closest child. The CPU computes all of it, with any backend.
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
}

export interface Codebook {
  /**
   * One result per query, in order.
   * Shape   lengths: residues of each whole query, of which `queries` has evenly spread rows
   * Range   1..CODED_QUERIES queries; floor 0..255, a dot product >> TABLE_SHIFT
   * Errors  those of a KernelBackend
   */
  sweep(
    queries: readonly QueryTokens[],
    lengths: Uint32Array,
    eligible: Uint32Array | undefined,
    floor: number,
    options?: KernelOptions,
  ): Promise<readonly CodebookSums[]>;
}

/**
 * Opens the centroid ids of a release. The file stays mapped until the last reference is gone.
 * Default  variant: GLOAMING_KERNELS of the environment, then the fastest that runs here; the result is the same
 * Errors   Fault if the file cannot be read or is too short; an assertion for a wrong shape
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
    async sweep(queries, lengths, eligible, floor, options = {}) {
      const table = await run<Uint16Array>(addon, options, (threads, isLowPriority, callback) =>
        addon.codeTable(codebook, queries, threads, isLowPriority, callback),
      );
      return run<readonly CodebookSums[]>(addon, options, (threads, isLowPriority, callback) =>
        addon.codeSums(codebook, table, lengths, eligible, floor, threads, isLowPriority, callback),
      );
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
