import { setImmediate } from 'node:timers/promises';
import { Fault, assert } from '../errors.js';
import { TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import type {
  KernelBackend,
  KernelOptions,
  MaxSimSums,
  QueryTokens,
  TokenSource,
  TokenStore,
} from './kernels.js';
import { openBlockReader, planBlocks, type BlockReader, type TargetBlock } from './tensorflow-blocks.js';

/* MaxSim by matrix products, for GPUs that TensorFlow drives; the same integers as every other backend. */

/** Used members of @tensorflow/tfjs and its variants. The packages are not needed to build this project. */
export interface TensorFlow {
  readonly version_core: string;
  tensor(values: Float32Array, shape: number[], type: 'float32'): Tensor;
  matMul(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Tensor;
  max(x: Tensor, axis: number): Tensor;
  sum(x: Tensor, axis: number): Tensor;
  cast(x: Tensor, type: 'int32'): Tensor;
  reshape(x: Tensor, shape: number[]): Tensor;
  tidy<Result>(work: () => Result): Result;
}

export interface Tensor {
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}

export interface TensorflowOptions {
  /** Displayed name of the device: `gpu`, `tfjs-cpu`. */
  readonly variant: string;
  /**
   * Padded target rows of one product.
   * Default  8,192
   */
  readonly blockRows?: number;
  /**
   * Query rows of one product. A product holds at most blockRows × queryRows numbers, except for longer targets.
   * Default  1,024
   */
  readonly queryRows?: number;
}

/** TensorFlow backend, with the CPU backend that serves the other operations. */
export interface TensorflowBackend extends KernelBackend {
  readonly affineBackend: KernelBackend;
}

interface TensorflowStore extends TokenStore {
  readonly blocks: readonly TargetBlock[];
  readonly reader: BlockReader;
  readonly lengthOf: (target: number) => number;
  readonly affineStore: TokenStore;
  /** Runs work while the store stays open, even after close(). */
  use<Result>(work: () => Promise<Result>): Promise<Result>;
}

const GPU_PACKAGE = '@tensorflow/tfjs-node-gpu';

/**
 * Opens the backend of a machine with a GPU and the optional package. The given backend serves affine operations.
 * Errors  Fault if the package or the GPU cannot be used; TensorFlow itself would fall back to the CPU
 */
export async function openTensorflowGpu(affine: KernelBackend): Promise<TensorflowBackend> {
  let tf: TensorFlow & { backend(): { readonly isUsingGpuDevice?: boolean } };
  try {
    tf = (await import(GPU_PACKAGE)) as typeof tf;
  } catch (cause) {
    throw new Fault(`The optional package ${GPU_PACKAGE} cannot be loaded.`, { cause });
  }
  if (tf.backend().isUsingGpuDevice !== true) throw new Fault('TensorFlow finds no GPU that it can use.');
  return tensorflowBackend(tf, affine, { variant: 'gpu' });
}

/**
 * Returns a backend that computes MaxSim with TensorFlow, and sampled sweeps and affine operations with `affine`.
 *
 * Products of int8 rows are at most 32,767 in magnitude at every step (Cauchy–Schwarz), so float32 holds them exactly.
 * TF32 does too, because the factors fit its ten bits. Sums of maxima exceed 2^24 and are computed in int32. Every
 * search copies the tokens to the device, so memory is bounded by one block and the copies limit the rate.
 */
export function tensorflowBackend(
  tf: TensorFlow,
  affine: KernelBackend,
  { variant, blockRows = 8_192, queryRows = 1_024 }: TensorflowOptions,
): TensorflowBackend {
  const storeOf = (store: TokenStore): TensorflowStore => {
    assert('affineStore' in store, 'the TensorFlow backend works on the stores that it opened');
    return store as TensorflowStore;
  };
  return {
    name: 'tensorflow',
    variant,
    version: `${affine.version}+tfjs-${tf.version_core}`,
    affineBackend: affine,
    open: (source) => openControlStore(source, affine, blockRows),
    maxsim: (store, queries, eligible, options = {}) => {
      const opened = storeOf(store);
      return opened.use(() => maxsim(tf, opened, queries, eligible, queryRows, options));
    },
    sweep: (store, ...rest) => affine.sweep(storeOf(store).affineStore, ...rest),
    sweepLists: (store, ...rest) => affine.sweepLists(storeOf(store).affineStore, ...rest),
    affineScores: (store, ...rest) => affine.affineScores(storeOf(store).affineStore, ...rest),
    measure: (store, ...rest) => affine.measure(storeOf(store).affineStore, ...rest),
    profileScores: (store, ...rest) => affine.profileScores(storeOf(store).affineStore, ...rest),
    affineAlign: (store, ...rest) => affine.affineAlign(storeOf(store).affineStore, ...rest),
    affineAlignAll: (store, ...rest) => affine.affineAlignAll(storeOf(store).affineStore, ...rest),
  };
}

async function openControlStore(
  source: TokenSource,
  affine: KernelBackend,
  blockRows: number,
): Promise<TensorflowStore> {
  const { dimension, residueStarts } = source;
  const affineStore = await affine.open(source);
  const reader = await openBlockReader(source);
  const users = usersOf(reader);
  let isOpen = true;
  const store: TensorflowStore = {
    dimension,
    targetCount: residueStarts.length - 1,
    residueCount: residueStarts[residueStarts.length - 1],
    blocks: planBlocks(residueStarts, blockRows),
    reader,
    lengthOf: (target) => residueStarts[target + 1] - residueStarts[target],
    affineStore,
    async use(work) {
      assert(isOpen, 'a closed store serves no new search');
      users.enter();
      return work().finally(users.leave);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      affineStore.close();
      forgotten.unregister(users);
      users.leave();
    },
    abandon: () => affineStore.abandon(),
  };
  forgotten.register(store, users, users);
  return store;
}

interface Users {
  readonly enter: () => void;
  readonly leave: () => void;
}

/** Closes a reader after its last user. The first user is the store that opened it. */
function usersOf(reader: BlockReader): Users {
  let count = 1;
  return {
    enter: () => void (count += 1),
    leave: () => {
      count -= 1;
      if (count === 0) void reader.close();
    },
  };
}

/** Closes the readers of unreachable stores. The held value must not refer to the store. */
const forgotten = new FinalizationRegistry<Users>(({ leave }) => leave());

async function maxsim(
  tf: TensorFlow,
  store: TensorflowStore,
  queries: readonly QueryTokens[],
  eligible: Uint32Array | undefined,
  queryRows: number,
  { signal }: KernelOptions,
): Promise<readonly MaxSimSums[]> {
  for (const { values, length } of queries) {
    assert(
      length >= 1 && values.length === length * store.dimension,
      'a query holds whole rows of the dimension',
    );
  }
  const place = placesOf(store, eligible);
  const count = eligible?.length ?? store.targetCount;
  const sums = queries.map(() => ({
    queryToTarget: new Int32Array(count),
    targetToQuery: new Int32Array(count),
  }));
  for (const block of store.blocks) {
    if (!block.targets.some((target) => place(target) !== undefined)) continue;
    const values = await store.reader.read(block);
    const tokens = tf.tensor(values, [block.targets.length * block.rows, store.dimension], 'float32');
    try {
      for (const [q, query] of queries.entries()) {
        // TensorFlow's promises settle within one turn of the event loop, in which no cancellation can arrive.
        await setImmediate();
        signal?.throwIfAborted();
        const blockOfSums = await blockSums(tf, { tokens, block }, query, store.dimension, queryRows);
        record(blockOfSums, block, sums[q], place, store.lengthOf);
      }
    } finally {
      tokens.dispose();
    }
  }
  return sums;
}

/** Copies the sums of a block's eligible targets to the result. */
function record(
  { queryToTarget, closest }: BlockSums,
  { targets, rows }: TargetBlock,
  sums: MaxSimSums,
  place: (target: number) => number | undefined,
  lengthOf: (target: number) => number,
): void {
  targets.forEach((target, i) => {
    const at = place(target);
    if (at === undefined) return;
    const ownRows = closest.subarray(i * rows, i * rows + lengthOf(target));
    sums.queryToTarget[at] = queryToTarget[i];
    sums.targetToQuery[at] = ownRows.reduce((sum, dot) => sum + dot, 0);
  });
}

/** A block on the device: tokens [targets·rows × dimension]. */
interface PreparedBlock {
  readonly tokens: Tensor;
  readonly block: TargetBlock;
}

interface BlockSums {
  /** By target of the block. */
  readonly queryToTarget: Int32Array;
  /** Best dot product of each row with any row of the query, padding included: [targets × rows]. */
  readonly closest: Int32Array;
}

/** Position of a target in the eligible list; undefined if it is not eligible. */
function placesOf(
  store: TensorflowStore,
  eligible: Uint32Array | undefined,
): (target: number) => number | undefined {
  if (eligible === undefined) return (target) => target;
  const places = new Map<number, number>();
  eligible.forEach((target, i) => {
    assert(target < store.targetCount, 'an eligible target exists');
    places.set(target, i);
  });
  return (target) => places.get(target);
}

/** Both sums of a query with each target of a block, computed in chunks of query rows. */
async function blockSums(
  tf: TensorFlow,
  { tokens, block }: PreparedBlock,
  query: QueryTokens,
  dimension: number,
  queryRows: number,
): Promise<BlockSums> {
  const { targets, rows } = block;
  const queryToTarget = new Int32Array(targets.length);
  const closest = new Int32Array(targets.length * rows).fill(-TOKEN_MAX_SQUARED_NORM);
  for (let start = 0; start < query.length; start += queryRows) {
    const pieceLength = Math.min(queryRows, query.length - start);
    const [sums, maxima] = tf.tidy(() => {
      const values = query.values.subarray(start * dimension, (start + pieceLength) * dimension);
      const piece = tf.tensor(Float32Array.from(values), [pieceLength, dimension], 'float32');
      const flat = tf.matMul(tokens, piece, false, true);
      const products = tf.reshape(flat, [targets.length, rows, pieceLength]);
      // The cast before the sum keeps it exact: the sum can exceed 2^24, beyond which float32 skips integers.
      return [tf.sum(tf.cast(tf.max(products, 1), 'int32'), 1), tf.max(flat, 1)] as const;
    });
    const [pieceSums, pieceMaxima] = await Promise.all([sums.data(), maxima.data()]);
    sums.dispose();
    maxima.dispose();
    for (let i = 0; i < queryToTarget.length; i++) queryToTarget[i] += pieceSums[i];
    for (let row = 0; row < closest.length; row++) closest[row] = Math.max(closest[row], pieceMaxima[row]);
  }
  return { queryToTarget, closest };
}
