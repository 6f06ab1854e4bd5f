import { CENTROID_COUNT, WORD_CHILDREN, assignCentroids } from '../kernels/codebook.js';
import type { KernelOptions } from '../kernels/kernels.js';
import { TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import { pause } from '../turns.js';

/** Centroids on two levels. */
export interface TrainedCentroids {
  /** [4,096 × dimension], row-major. */
  readonly parents: Int8Array;
  /** [4,096 × WORD_CHILDREN × dimension], row-major. */
  readonly children: Int8Array;
}

const PARENT_COUNT = CENTROID_COUNT / WORD_CHILDREN;
const ROUNDS = 5;
/** Rows that are assigned before the event loop may run other tasks. */
const BLOCK_ROWS = 65_536;

/**
 * Trains a two-level codebook by hierarchical k-means on dot products: first the parents, then the children of each
 * parent. The initial centroids are evenly spaced rows, of all rows or of the rows of a parent. A centroid without rows
 * stays unchanged.
 * Shape   rows [count × dimension], row-major, count ≥ 1
 * Unit    int8 components of tokens
 * Range   −128..127; squared norm of a centroid at most TOKEN_MAX_SQUARED_NORM
 * Errors  Fault of the kernels; the signal's reason
 * Cost    2 × ROUNDS + 1 assignments of all rows
 * Source  hierarchical k-means (Nistér & Stewénius 2006)
 */
export async function trainCentroids(
  rows: Int8Array,
  dimension: number,
  options: KernelOptions,
): Promise<TrainedCentroids> {
  const count = rows.length / dimension;
  const parents = new Int8Array(PARENT_COUNT * dimension);
  for (let parent = 0; parent < PARENT_COUNT; parent += 1) {
    const row = Math.floor((parent * count) / PARENT_COUNT);
    parents.set(rows.subarray(row * dimension, (row + 1) * dimension), parent * dimension);
  }
  const assign = (children?: Int8Array): Promise<Uint16Array> =>
    assignAll({ dimension, parents, children }, rows, options);
  for (let round = 0; round < ROUNDS; round += 1) moveTo(parents, await assign(), rows, dimension);
  const children = firstChildren(parents, await assign(), rows, dimension);
  for (let round = 0; round < ROUNDS; round += 1) {
    moveTo(children, await assign(children), rows, dimension);
  }
  return { parents, children };
}

async function assignAll(
  centroids: Parameters<typeof assignCentroids>[0],
  rows: Int8Array,
  options: KernelOptions,
): Promise<Uint16Array> {
  const width = BLOCK_ROWS * centroids.dimension;
  const centroidIds = new Uint16Array(rows.length / centroids.dimension);
  for (let start = 0; start < rows.length; start += width) {
    const some = await assignCentroids(centroids, rows.subarray(start, start + width), options);
    centroidIds.set(some, start / centroids.dimension);
    await pause();
  }
  return centroidIds;
}

/** Moves each centroid to the direction of the mean of its rows. */
function moveTo(centroids: Int8Array, centroidIds: Uint16Array, rows: Int8Array, dimension: number): void {
  const sums = new Int32Array(centroids.length);
  const counts = new Uint32Array(centroids.length / dimension);
  centroidIds.forEach((centroid, row) => {
    counts[centroid] += 1;
    for (let at = 0; at < dimension; at += 1) sums[centroid * dimension + at] += rows[row * dimension + at];
  });
  // The mean of several rows is shorter than the rows. It is scaled to their length, or to the longest valid token.
  const length = Math.min(
    meanLength(rows, dimension),
    Math.sqrt(TOKEN_MAX_SQUARED_NORM) - Math.sqrt(dimension),
  );
  counts.forEach((count, centroid) => {
    const sum = sums.subarray(centroid * dimension, (centroid + 1) * dimension);
    const norm = Math.sqrt(sum.reduce((total, value) => total + value * value, 0));
    if (count === 0 || norm === 0) return;
    for (let at = 0; at < dimension; at += 1) {
      const value = Math.round((sum[at] * length) / norm);
      centroids[centroid * dimension + at] = Math.max(-128, Math.min(127, value));
    }
  });
}

function meanLength(rows: Int8Array, dimension: number): number {
  let total = 0;
  for (const value of rows) total += value * value;
  return Math.sqrt((total * dimension) / rows.length);
}

/** Returns evenly spaced rows of each parent. Too few rows repeat; a parent without rows is repeated itself. */
function firstChildren(
  parents: Int8Array,
  centroidIds: Uint16Array,
  rows: Int8Array,
  dimension: number,
): Int8Array {
  const members: number[][] = Array.from({ length: PARENT_COUNT }, () => []);
  centroidIds.forEach((parent, row) => members[parent].push(row));
  const children = new Int8Array(CENTROID_COUNT * dimension);
  members.forEach((own, parent) => {
    for (let child = 0; child < WORD_CHILDREN; child += 1) {
      const row = own[Math.floor((child * own.length) / WORD_CHILDREN)];
      const [from, at] = row === undefined ? [parents, parent] : [rows, row];
      children.set(
        from.subarray(at * dimension, (at + 1) * dimension),
        (parent * WORD_CHILDREN + child) * dimension,
      );
    }
  });
  return children;
}
