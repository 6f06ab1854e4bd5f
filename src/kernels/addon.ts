import { createRequire } from 'node:module';
import { Fault, assert } from '../errors.js';
import type {
  AffineAlignment,
  AffineParameters,
  CodedSums,
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

/** Handles of kernels/node/addon.cpp; nothing but the addon can look inside. */
declare const handle: unique symbol;
export type StoreHandle = { readonly [handle]: 'store' };
export type CodesHandle = { readonly [handle]: 'codes' };
export type SearchHandle = { readonly [handle]: 'search' };
export type Callback<Result> = (error: Error | undefined, result: Result) => void;

/** What kernels.node exports; documented in kernels/node/addon.cpp. */
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
  /** Bytes of files mapped from now on that stay in memory; what is beyond them is read anew by each search. */
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
    /** Lists of each query's own are for the CPU only. */
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
    wanted: number,
    isLowPriority: boolean,
    callback: Callback<readonly NearestSums[]>,
  ): SearchHandle;
  affine<Result>(
    store: StoreHandle,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    work: 'scores' | 'measures' | 'alignments',
    isOnGpu: boolean,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<Result>,
  ): SearchHandle;
  openCodes(
    variant: string,
    starts: Uint32Array,
    dimension: number,
    words: Int8Array,
    path: string,
  ): CodesHandle;
  codeTable(
    codes: CodesHandle,
    queries: readonly QueryTokens[],
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<Uint8Array>,
  ): SearchHandle;
  codeSums(
    codes: CodesHandle,
    table: Uint8Array,
    queryCount: number,
    eligible: Uint32Array | undefined,
    floor: number,
    threads: number | undefined,
    isLowPriority: boolean,
    callback: Callback<readonly CodedSums[]>,
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
  cancel(search: SearchHandle): void;
  selfScore(query: QueryTokens, dimension: number, parameters: AffineParameters): number;
  secondMoments(rows: Int8Array, dimension: number): Int32Array;
}

/** GPUs that the addon can use, or the half sentence that says why there are none. */
export type GpuReport =
  | {
      readonly obstacle?: undefined;
      readonly gpus: readonly Gpu[];
      /** GPUs that do not serve, each with the reason: `GPU 1: Tesla V100 has compute capability 7.0, …`. */
      readonly unused: readonly string[];
      /** CUDA version of the driver, 13000 for 13.0. */
      readonly driverVersion: number;
    }
  | { readonly obstacle: string };

export interface Gpu {
  /** As the driver counts all GPUs of the machine. */
  readonly ordinal: number;
  readonly name: string;
  /** `9.0`. */
  readonly computeCapability: string;
  /** Which kernels it runs. */
  readonly kernels: 'hopper' | 'portable';
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Releases of which a part lies here, loaded by this process, and the bytes of these parts. */
  readonly residentCount: number;
  readonly residentBytes: number;
}

/** One instruction set that was compiled in, and whether this machine runs it. */
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

/** The calls of the CPU, which any store takes. */
export function storeCalls(
  addon: Addon,
): Pick<KernelBackend, 'maxsim' | 'sweep' | 'sweepLists' | 'affineScores' | 'measure' | 'affineAlign'> {
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
    affineAlign: affineCall<readonly AffineAlignment[]>(addon, 'alignments', false),
  };
}

/** Affine scores and measures, of the CPU or of the GPUs; these take no profiles. */
export function scoreCalls(addon: Addon, isOnGpu: boolean): Pick<KernelBackend, 'affineScores' | 'measure'> {
  const scores = affineCall<Int32Array>(addon, 'scores', isOnGpu);
  return {
    affineScores: async (...call) => ({ scores: await scores(...call) }),
    measure: affineCall<PairMeasures>(addon, 'measures', isOnGpu),
  };
}

function affineCall<Result>(addon: Addon, work: 'scores' | 'measures' | 'alignments', isOnGpu: boolean) {
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

/** A store that all calls of the addon take. */
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

/** What the addon gives at once, with its errors as the project's kinds. */
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
 * Starts a search and waits for its callback. An abort rejects at once with the signal's reason: the search keeps its
 * own memory while its threads stop, or while it still waits for them.
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

/** The addon's errors as the project's kinds: a wrong shape is our bug, anything else is the machine's. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  assert(error.code !== 'KERNEL_SHAPE', error.message);
  const failed = DEVICE_CODES.has(error.code) ? 'CUDA' : 'native';
  return new Fault(`The ${failed} kernels failed: ${error.message}.`, { cause: error });
}

const BUSY_CODE = 'KERNEL_BUSY';
const DEVICE_CODES = new Set<unknown>(['KERNEL_DEVICE', BUSY_CODE]);

/** Whether a GPU failed, and not the file, the memory or the caller. */
export function isDeviceFault(error: unknown): error is Fault {
  return DEVICE_CODES.has(codeOf(error));
}

/** Whether other searches use what this one needs of the GPUs; it may succeed when they have ended. */
export function isDeviceBusy(error: unknown): boolean {
  return codeOf(error) === BUSY_CODE;
}

function codeOf(error: unknown): unknown {
  const cause = error instanceof Fault ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}
