import { createRequire } from 'node:module';
import { Fault, assert } from '../errors.js';
import type { ByteModel } from './byte-model.js';
import type {
  AffineAlignment,
  AffineAlignmentList,
  AffineParameters,
  AlignmentListBounds,
  CodebookHits,
  CodebookSums,
  KernelBackend,
  KernelOptions,
  MaxSimSums,
  NearestSums,
  PairMeasures,
  QueryTokens,
  RowSource,
  SweptSums,
  TokenSource,
  TokenStore,
} from './kernels.js';

/** Opaque handles of kernels/node/addon.cpp. */
declare const handle: unique symbol;
export type StoreHandle = { readonly [handle]: 'store' };
export type CodesHandle = { readonly [handle]: 'codes' };
export type LettersHandle = { readonly [handle]: 'letters' };
export type CodeSumsHandle = { readonly [handle]: 'code sums' };
export type KmerScoresHandle = { readonly [handle]: 'k-mer scores' };
export type EncoderHandle = { readonly [handle]: 'encoder' };
export type SearchHandle = { readonly [handle]: 'search' };
export type Callback<Result> = (error: Error | undefined, result: Result) => void;

/** Results of an affine search; bounds stand for lists of alignments. */
type AffineWork = 'scores' | 'measures' | 'profiles' | 'alignments' | AlignmentListBounds;

/** Exports of kernels.node; documented in kernels/node/addon.cpp. */
export interface Addon {
  variants(): readonly NativeVariant[];
  choose(variant: string | undefined): string;
  open(
    variant: string,
    starts: Uint32Array,
    dimension: number,
    tokens: RowSource,
    profiles: RowSource | undefined,
  ): StoreHandle;
  /** Bytes of later mapped files that stay in memory. Each search reads the rest from disk again. */
  limitMemory(bytes: number): void;
  close(store: StoreHandle): void;
  abandon(store: StoreHandle): void;
  gpus(): GpuReport;
  load(store: StoreHandle, callback: Callback<void>): SearchHandle;
  maxsim(
    store: StoreHandle,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    isOnGpu: boolean,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<readonly MaxSimSums[]>,
  ): SearchHandle;
  sweep(
    store: StoreHandle,
    queries: readonly QueryTokens[],
    /** One list per query is supported on the CPU only. */
    eligible: Uint32Array | undefined | readonly Uint32Array[],
    floor: number,
    isOnGpu: boolean,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<readonly SweptSums[]>,
  ): SearchHandle;
  nearest(
    store: StoreHandle,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    count: number,
    isLowPriority: boolean,
    callback: Callback<readonly NearestSums[]>,
  ): SearchHandle;
  affine<Result>(
    store: StoreHandle,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    work: AffineWork,
    isOnGpu: boolean,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<Result>,
  ): SearchHandle;
  openCodes(
    variant: string,
    starts: Uint32Array,
    dimension: number,
    centroids: Int8Array,
    path: string,
  ): CodesHandle;
  codeTable(
    codebook: CodesHandle,
    queries: readonly QueryTokens[],
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<Uint16Array>,
  ): SearchHandle;
  codeSums(
    codebook: CodesHandle,
    table: Uint16Array,
    lengths: Uint32Array,
    eligible: Uint32Array | undefined,
    floor: number,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<CodeSumsHandle>,
  ): SearchHandle;
  openLetters(variant: string, starts: Uint32Array, text: Uint8Array): LettersHandle;
  kmerScores(
    letters: LettersHandle,
    texts: readonly Uint8Array[],
    eligible: Uint32Array | undefined,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<KmerScoresHandle>,
  ): SearchHandle;
  coarseScores(sums: CodeSumsHandle, kmers: KmerScoresHandle): readonly CodebookSums[];
  /** Empties both handles. */
  hits(
    codebook: CodesHandle,
    sums: CodeSumsHandle,
    kmers: KmerScoresHandle,
    eligible: Uint32Array | undefined,
    count: number,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<readonly CodebookHits[]>,
  ): SearchHandle;
  assign(
    dimension: number,
    parents: Int8Array,
    children: Int8Array | undefined,
    rows: Int8Array,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<Uint16Array>,
  ): SearchHandle;
  /** Undefined where the kernels have no encoder. */
  openEncoder(variant: string, model: ByteModel): EncoderHandle | undefined;
  encode(encoder: EncoderHandle, letters: Uint8Array): Float32Array;
  cancel(search: SearchHandle): void;
  selfScore(query: QueryTokens, dimension: number, parameters: AffineParameters): number;
  secondMoments(rows: Int8Array, dimension: number): Int32Array;
  bestByRanks(values: Float64Array, orders: number, most: number): Uint32Array;
}

/** GPUs that the addon can use, or the reason, as half a sentence, why there are none. */
export type GpuReport =
  | {
      readonly obstacle?: undefined;
      readonly gpus: readonly Gpu[];
      /** GPUs that are not used, each with the reason: `GPU 1: Tesla V100 has compute capability 7.0, …`. */
      readonly unused: readonly string[];
      /** CUDA version of the driver, 13000 for 13.0. */
      readonly driverVersion: number;
    }
  | { readonly obstacle: string };

export interface Gpu {
  /** Index of the GPU in the driver's list. */
  readonly ordinal: number;
  readonly name: string;
  /** `9.0`. */
  readonly computeCapability: string;
  /** Kernels for this GPU. */
  readonly kernels: 'hopper' | 'portable';
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Releases that this process has loaded here in whole or in part, and the bytes of these parts. */
  readonly residentCount: number;
  readonly residentBytes: number;
}

/** A compiled instruction set, and whether this machine runs it. */
export interface NativeVariant {
  readonly name: string;
  readonly isRunnable: boolean;
}

export interface NativeStore extends TokenStore {
  readonly handle: StoreHandle;
}

/** Errors  Fault if the addon was not built or cannot be loaded */
export function loadAddon(): Addon {
  try {
    // From dist/src/kernels the addon is in dist/kernels.
    return createRequire(import.meta.url)('../../kernels/kernels.node') as Addon;
  } catch (cause) {
    throw new Fault('The native kernels cannot be loaded; run `npm run build:kernels`.', { cause });
  }
}

/** Calls of the CPU, for any store. */
export function storeCalls(
  addon: Addon,
): Pick<
  KernelBackend,
  | 'maxsim'
  | 'sweep'
  | 'sweepLists'
  | 'affineScores'
  | 'measure'
  | 'profileScores'
  | 'affineAlign'
  | 'affineAlignAll'
> {
  return {
    maxsim: (store, queries, eligible, options = {}) =>
      run<readonly MaxSimSums[]>(addon, options, (threads, isLowPriority, callback) =>
        addon.maxsim(handleOf(store), queries, eligible, false, threads, isLowPriority, callback),
      ),
    sweep: (store, queries, eligible, floor, options = {}) =>
      run<readonly SweptSums[]>(addon, options, (threads, isLowPriority, callback) =>
        addon.sweep(handleOf(store), queries, eligible, floor, false, threads, isLowPriority, callback),
      ),
    sweepLists: (store, queries, lists, floor, options = {}) =>
      run<readonly SweptSums[]>(addon, options, (threads, isLowPriority, callback) =>
        addon.sweep(handleOf(store), queries, lists, floor, false, threads, isLowPriority, callback),
      ),
    ...scoreCalls(addon, false),
    profileScores: (store, query, targets, options) =>
      affineCall<Int32Array>(addon, 'profiles', false)(store, query, targets, NO_PARAMETERS, options),
    affineAlign: affineCall<readonly AffineAlignment[]>(addon, 'alignments', false),
    affineAlignAll: (store, query, targets, parameters, bounds, options) =>
      affineCall<readonly AffineAlignmentList[]>(addon, bounds, false)(
        store,
        query,
        targets,
        parameters,
        options,
      ),
  };
}

/** Affine scores and measures on the CPU or on the GPUs. The GPU calls take no profiles. */
export function scoreCalls(addon: Addon, isOnGpu: boolean): Pick<KernelBackend, 'affineScores' | 'measure'> {
  const scores = affineCall<Int32Array>(addon, 'scores', isOnGpu);
  return {
    affineScores: async (...call) => ({ scores: await scores(...call) }),
    measure: affineCall<PairMeasures>(addon, 'measures', isOnGpu),
  };
}

/** Scores of profiles alone have fixed parameters; these are checked and not used. */
const NO_PARAMETERS: AffineParameters = { multiplier: 1, offset: 0, gapOpen: 0, gapExtend: 0 };

function affineCall<Result>(addon: Addon, work: AffineWork, isOnGpu: boolean) {
  return (
    store: TokenStore,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    options: KernelOptions = {},
  ): Promise<Result> =>
    run<Result>(addon, options, (threads, isLowPriority, callback) =>
      addon.affine(
        handleOf(store),
        query,
        targets,
        parameters,
        work,
        isOnGpu,
        threads,
        isLowPriority,
        callback,
      ),
    );
}

/** Opens a store for all calls of the addon. */
export function openControlStore(addon: Addon, variant: string, source: TokenSource): NativeStore {
  const { dimension, residueStarts, tokens, profiles } = source;
  const store = withShapes(() => addon.open(variant, residueStarts, dimension, tokens, profiles));
  let isOpen = true;
  return {
    dimension,
    targetCount: residueStarts.length - 1,
    residueCount: residueStarts[residueStarts.length - 1]!,
    handle: store,
    close() {
      if (isOpen) addon.close(store);
      isOpen = false;
    },
    abandon() {
      if (isOpen) addon.abandon(store);
    },
  };
}

/** Runs a synchronous call of the addon and translates its errors. */
export function withShapes<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw explain(error);
  }
}

export function handleOf(store: TokenStore): StoreHandle {
  assert('handle' in store, 'the native kernels work on the stores that they opened');
  return (store as NativeStore).handle;
}

/**
 * Starts a search and waits for its callback. An abort rejects at once with the signal's reason. The search keeps its
 * memory until its threads have stopped, or until its turn comes if it has not started.
 * Errors  an assertion for a wrong shape; Fault of the file, the memory or the device; the signal's reason
 */
export async function run<Result>(
  addon: Addon,
  { signal, threads, isLowPriority = false }: KernelOptions,
  start: (threads: number | undefined, isLowPriority: boolean, callback: Callback<Result>) => SearchHandle,
): Promise<Result> {
  signal?.throwIfAborted();
  assert(threads === undefined || threads >= 1, 'a search needs at least one thread');
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<Result>((resolve, reject) => {
      const search = start(threads, isLowPriority, (error, result) =>
        error ? reject(error) : resolve(result),
      );
      onAbort = () => {
        addon.cancel(search);
        reject(signal!.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw explain(error);
  } finally {
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}

/** Translates an error of the addon: a wrong shape is a bug of this code, any other error is a Fault. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  assert(error.code !== 'KERNEL_SHAPE', error.message);
  const failed = DEVICE_CODES.has(error.code) ? 'CUDA' : 'native';
  return new Fault(`The ${failed} kernels failed: ${error.message}.`, { cause: error });
}

const BUSY_CODE = 'KERNEL_BUSY';
const DEVICE_CODES = new Set<unknown>(['KERNEL_DEVICE', BUSY_CODE]);

/** Whether a GPU failed, as opposed to the file, the memory or the caller. */
export function isDeviceFault(error: unknown): error is Fault {
  return DEVICE_CODES.has(codeOf(error));
}

/** Whether other searches use the GPU memory that a search needs. It may succeed after they end. */
export function isDeviceBusy(error: unknown): boolean {
  return codeOf(error) === BUSY_CODE;
}

function codeOf(error: unknown): unknown {
  const cause = error instanceof Fault ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}
