import { createRequire } from 'node:module';
import { Fault, assert } from '../errors.js';
import type {
  AffineAlignment,
  AffineParameters,
  KernelBackend,
  KernelOptions,
  MaxSimSums,
  QueryTokens,
  TokenSource,
  TokenStore,
} from './kernels.js';

/** Version of the kernels' results and interface; it goes into receipts. */
const KERNELS_VERSION = '1.0.0';

/** Handles of kernels/addon.cpp; nothing but the addon can look inside. */
declare const handle: unique symbol;
type StoreHandle = { readonly [handle]: 'store' };
type SearchHandle = { readonly [handle]: 'search' };
type Callback<Result> = (error: Error | undefined, result: Result) => void;

/** What kernels.node exports; documented in kernels/addon.cpp. */
interface Addon {
  variants(): readonly NativeVariant[];
  choose(variant: string | undefined): string;
  open(
    variant: string,
    starts: Uint32Array,
    dimension: number,
    tokens: Int8Array | string,
    byteOffset: number | undefined,
  ): StoreHandle;
  close(store: StoreHandle): void;
  maxsim(
    store: StoreHandle,
    queries: readonly QueryTokens[],
    eligible: Uint32Array | undefined,
    threads: number | undefined,
    isBackground: boolean,
    callback: Callback<readonly MaxSimSums[]>,
  ): SearchHandle;
  affine<Result>(
    store: StoreHandle,
    query: QueryTokens,
    targets: Uint32Array,
    parameters: AffineParameters,
    aligns: boolean,
    threads: number | undefined,
    isBackground: boolean,
    callback: Callback<Result>,
  ): SearchHandle;
  cancel(search: SearchHandle): void;
}

/** One instruction set that was compiled in, and whether this machine runs it. */
export interface NativeVariant {
  readonly name: string;
  readonly isRunnable: boolean;
}

interface NativeStore extends TokenStore {
  readonly handle: StoreHandle;
}

/** Compiled instruction sets, fastest first. Errors: Fault if the addon was not built or cannot be loaded. */
export function nativeVariants(): readonly NativeVariant[] {
  return loadAddon().variants();
}

/**
 * The CPU kernels of kernels/, on their own threads, off the event loop.
 * Default  variant: the fastest that this machine runs; tests and `doctor` name another one
 * Errors   Fault if the addon was not built, or the variant is unknown or cannot run here
 */
export function nativeBackend(variant?: string): KernelBackend {
  const addon = loadAddon();
  const chosen = chooseVariant(addon, variant);
  return {
    name: 'native',
    variant: chosen,
    version: KERNELS_VERSION,
    open: async (source) => openStore(addon, chosen, source),
    maxsim: (store, queries, eligible, options = {}) =>
      run<readonly MaxSimSums[]>(addon, options, (threads, isBackground, callback) =>
        addon.maxsim(handleOf(store), queries, eligible, threads, isBackground, callback),
      ),
    affineScores: (store, query, targets, parameters, options = {}) =>
      run<Int32Array>(addon, options, (threads, isBackground, callback) =>
        addon.affine(handleOf(store), query, targets, parameters, false, threads, isBackground, callback),
      ),
    affineAlign: (store, query, targets, parameters, options = {}) =>
      run<readonly AffineAlignment[]>(addon, options, (threads, isBackground, callback) =>
        addon.affine(handleOf(store), query, targets, parameters, true, threads, isBackground, callback),
      ),
  };
}

function loadAddon(): Addon {
  try {
    // From dist/src/kernels the addon is in dist/kernels.
    return createRequire(import.meta.url)('../../kernels/kernels.node') as Addon;
  } catch (cause) {
    throw new Fault('The native kernels cannot be loaded; run `npm run build:kernels`.', { cause });
  }
}

function chooseVariant(addon: Addon, variant: string | undefined): string {
  try {
    return addon.choose(variant);
  } catch (cause) {
    const runnable = addon.variants().filter(({ isRunnable }) => isRunnable);
    const names = runnable.map(({ name }) => name).join(', ');
    throw new Fault(`The kernels '${variant}' cannot run here; this machine runs ${names}.`, { cause });
  }
}

function openStore(addon: Addon, variant: string, source: TokenSource): NativeStore {
  const { dimension, residueStarts, tokens } = source;
  const [place, byteOffset] =
    'path' in tokens ? [tokens.path, tokens.byteOffset] : [tokens.values, undefined];
  let store: StoreHandle;
  try {
    store = addon.open(variant, residueStarts, dimension, place, byteOffset);
  } catch (error) {
    throw explain(error);
  }
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
  };
}

function handleOf(store: TokenStore): StoreHandle {
  assert('handle' in store, 'the native kernels work on the stores that they opened');
  return (store as NativeStore).handle;
}

/**
 * Starts a search and waits for its callback. An abort rejects at once with the signal's reason: the search keeps its
 * own memory while its threads stop, or while it still waits for them.
 */
async function run<Result>(
  addon: Addon,
  { signal, threads, isBackground = false }: KernelOptions,
  start: (
    threads: number | undefined,
    isBackground: boolean,
    callback: Callback<Result>,
  ) => SearchHandle,
): Promise<Result> {
  signal?.throwIfAborted();
  assert(threads === undefined || threads >= 1, 'a search needs at least one thread');
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<Result>((resolve, reject) => {
      const search = start(threads, isBackground, (error, result) => (error ? reject(error) : resolve(result)));
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
  return new Fault(`The native kernels failed: ${error.message}`, { cause: error });
}
