import { Fault, assert } from '../errors.js';
import { loadAddon, openControlStore, storeCalls, type Addon, type NativeVariant } from './addon.js';
import type { AffineParameters, KernelBackend, QueryTokens } from './kernels.js';

/** Version of the kernels' results and interface; it goes into receipts. */
export const KERNELS_VERSION = '1.3.0';

/** Compiled instruction sets, fastest first. Errors  Fault if the addon was not built or cannot be loaded */
export function nativeVariants(): readonly NativeVariant[] {
  return loadAddon().variants();
}

/**
 * Returns the CPU kernels of kernels/, which run on their own threads.
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
    open: async (source) => openControlStore(addon, chosen, source),
    ...storeCalls(addon),
  };
}

/** Limits the bytes of later opened stores that stay in memory. Each search reads the rest from disk again. */
export function limitMemory(bytes: number): void {
  loadAddon().limitMemory(bytes);
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

/**
 * Upper triangle, row by row, of the sum of all rows' outer products.
 * Shape   rows int8 [count × dimension], at most 65,535 rows; result [dimension × (dimension + 1) ÷ 2]
 * Unit    sums of int8 products
 * Range   int32
 * Errors  Fault if the addon was not built
 */
export function secondMoments(rows: Int8Array, dimension: number): Int32Array {
  assert(rows.length % dimension === 0, 'second moments need whole rows');
  addon ??= loadAddon();
  return addon.secondMoments(rows, dimension);
}

/**
 * Places of the best items by the product of their ranks in several orders. The rank of an item is the number of items
 * with at least its value, so that equal values share the last of their ranks.
 * Shape   values [orders × items], row-major; 1 to 8 orders
 * Unit    zero-based places of items
 * Range   min(most, items) places, least product first, equal products by ascending place
 * Errors  Fault where a value is no number, or if the addon was not built
 */
export function bestByRanks(values: Float64Array, orders: number, most: number): Uint32Array {
  addon ??= loadAddon();
  return addon.bestByRanks(values, orders, most);
}

/**
 * Affine score of a protein with itself along the diagonal: Σ max(0, s(i, i)), defined in kernels/reference/affine.cpp.
 * Shape   query tokens int8 [length × dimension]; letters.query [length], letters.targets empty
 * Range   0..65,535 × 32,767; the parameters have the ranges of `AffineParameters`
 * Unit    substitution score; an integer
 * Errors  Fault if the addon was not built; KERNEL_SHAPE if a parameter is out of range
 */
export function selfScore(query: QueryTokens, dimension: number, parameters: AffineParameters): number {
  addon ??= loadAddon();
  return addon.selfScore(query, dimension, parameters);
}

/** Cached, because loading the addon takes longer than its work on one protein. */
let addon: Addon | undefined;
