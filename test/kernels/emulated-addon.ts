import {
  loadAddon,
  type Addon,
  type Callback,
  type SearchHandle,
  type StoreHandle,
} from '#src/kernels/addon.js';
import type { MaxSimSums, NearestSums } from '#src/kernels/kernels.js';

export interface EmulatedAddon extends Addon {
  /** Error of the next GPU calls; undefined for none. */
  failure: string | undefined;
  /** Whether the GPU memory holds one release at a time. Default false. */
  isSmall: boolean;
  /** Names of the calls on the GPU, in order. */
  readonly gpuCalls: string[];
}

/**
 * The addon with one emulated GPU. It compares on the CPU and selects the best targets as the interface requires.
 * kernels-cuda-equality tests the selection of a real GPU, on emulated lanes and on GPUs.
 */
export function emulatedAddon(): EmulatedAddon {
  const addon = loadAddon();
  const shapes = new WeakMap<object, Uint32Array>();
  const inUse: StoreHandle[] = [];
  const emulated: EmulatedAddon = {
    ...addon,
    failure: undefined,
    isSmall: false,
    gpuCalls: [],
    gpus: () => ({ gpus: [GPU], unused: [OLD_GPU], driverVersion: 13_000 }),
    open(variant, starts, ...rest) {
      const store = addon.open(variant, starts, ...rest);
      shapes.set(store, starts);
      return store;
    },
    load: (store, callback) =>
      onGpu('load', store, callback, (done) => void setImmediate(() => done(undefined, undefined))),
    maxsim(store, queries, eligible, isOnGpu, threads, isLowPriority, callback) {
      const compare = (done: typeof callback): SearchHandle =>
        addon.maxsim(store, queries, eligible, false, threads, isLowPriority, done);
      return isOnGpu ? onGpu('maxsim', store, callback, compare) : compare(callback);
    },
    sweep(store, queries, eligible, floor, isOnGpu, threads, isLowPriority, callback) {
      const compare = (done: typeof callback): SearchHandle =>
        addon.sweep(store, queries, eligible, floor, false, threads, isLowPriority, done);
      return isOnGpu ? onGpu('sweep', store, callback, compare) : compare(callback);
    },
    nearest(store, queries, eligible, wanted, isLowPriority, callback) {
      const starts = shapes.get(store)!;
      const choose = (all: readonly MaxSimSums[]): NearestSums[] =>
        all.map((sums, query) => nearestOf(sums, eligible, starts, queries[query]!.length, wanted));
      return onGpu('nearest', store, callback, (done) =>
        addon.maxsim(store, queries, eligible, false, undefined, isLowPriority, (error, all) =>
          done(error, error ? [] : choose(all)),
        ),
      );
    },
    affine<Result>(
      ...[store, query, targets, parameters, work, isOnGpu, threads, isLowPriority, callback]: Parameters<
        typeof addon.affine<Result>
      >
    ) {
      const score = (done: typeof callback): SearchHandle =>
        addon.affine(store, query, targets, parameters, work, false, threads, isLowPriority, done);
      return isOnGpu ? onGpu(String(work), store, callback, score) : score(callback);
    },
    cancel: (search) => (IDLE === search ? undefined : addon.cancel(search)),
  };
  const onGpu = <Result>(
    name: string,
    store: StoreHandle,
    callback: Callback<Result>,
    work: (done: Callback<Result>) => SearchHandle | void,
  ): SearchHandle => {
    emulated.gpuCalls.push(name);
    const isBusy = emulated.isSmall && inUse.some((used) => used !== store);
    const failure = isBusy ? 'other searches use the GPU memory' : emulated.failure;
    if (failure === undefined) {
      inUse.push(store);
      const done: Callback<Result> = (error, result) => {
        inUse.splice(inUse.indexOf(store), 1);
        callback(error, result);
      };
      return work(done) ?? IDLE;
    }
    const error = Object.assign(new Error(failure), { code: isBusy ? 'KERNEL_BUSY' : 'KERNEL_DEVICE' });
    setImmediate(() => callback(error, undefined as Result));
    return IDLE;
  };
  return emulated;
}

const IDLE = {} as SearchHandle;
const OLD_GPU = 'GPU 1: Old has compute capability 7.0, 8.0 is needed';
const GPU = {
  ordinal: 0,
  name: 'Emulated',
  computeCapability: '9.0',
  kernels: 'hopper',
  totalBytes: 2 ** 36,
  freeBytes: 2 ** 35,
  residentCount: 1,
  residentBytes: 12_345,
} as const;

/** Targets whose similarity (Sqt·Lt + Lq·Stq) / Lt is at least the k-th greatest, by exact integers. */
function nearestOf(
  sums: MaxSimSums,
  eligible: Uint32Array | undefined,
  starts: Uint32Array,
  queryLength: number,
  wanted: number,
): NearestSums {
  const targetAt = (position: number): number => eligible?.[position] ?? position;
  const lengthAt = (position: number): bigint =>
    BigInt(starts[targetAt(position) + 1]! - starts[targetAt(position)]!);
  const numeratorAt = (position: number): bigint =>
    BigInt(sums.queryToTarget[position]!) * lengthAt(position) +
    BigInt(queryLength) * BigInt(sums.targetToQuery[position]!);
  const difference = (a: number, b: number): bigint =>
    numeratorAt(b) * lengthAt(a) - numeratorAt(a) * lengthAt(b);
  const order = Array.from(sums.queryToTarget.keys()).sort((a, b) => Number(difference(a, b)));
  const last = order[Math.min(wanted, order.length) - 1];
  const nearest = last === undefined ? [] : order.filter((position) => difference(position, last) <= 0n);
  nearest.sort((a, b) => a - b);
  return {
    targets: Uint32Array.from(nearest, targetAt),
    queryToTarget: Int32Array.from(nearest, (position) => sums.queryToTarget[position]!),
    targetToQuery: Int32Array.from(nearest, (position) => sums.targetToQuery[position]!),
  };
}
