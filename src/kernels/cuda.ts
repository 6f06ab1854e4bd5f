import { Fault } from '../errors.js';
import {
  handleOf,
  isDeviceBusy,
  isDeviceFault,
  loadAddon,
  openControlStore,
  run,
  scoreCalls,
  storeCalls,
  type Addon,
  type GpuReport,
} from './addon.js';
import type {
  AffineParameters,
  AffineScores,
  KernelBackend,
  KernelOptions,
  KernelRetry,
  MaxSimSums,
  NearestSums,
  PairMeasures,
  SweptSums,
} from './kernels.js';
import { createTurns } from './turns.js';

/**
 * Whether kernels-cuda-equality has passed on a real GPU with the kernels of this version: with those of the sweep on
 * an H100, with those of affine scores on an H200. While it is false, the device setting `auto` is the CPU. A change
 * of kernels/cuda that no GPU has tested sets it to false.
 */
export const CUDA_IS_VERIFIED: boolean = true;

export interface CudaOptions {
  /** Repeats a failed GPU call on the CPU and reports the retry. Otherwise such a search fails. Default false. */
  readonly retriesOnCpu?: boolean;
  /** Default: the addon of this package. Tests pass one that needs no GPU. */
  readonly addon?: Addon;
}

/** CUDA backend, with the CPU backend that serves alignments and profile scores. */
export interface CudaBackend extends KernelBackend {
  readonly affineBackend: KernelBackend;
  readonly retriesOnCpu: boolean;
  /** Calls that the CPU repeated after an error of a GPU, since the start. */
  retryCount(): number;
  /** Calls the listener at each later retry. */
  watchRetries(listener: (retry: KernelRetry) => void): void;
  /** GPUs and the memory in use on them. */
  report(): GpuReport;
}

/** Lists the GPUs. The first call opens the driver, which may take a second. */
export function gpuReport(): GpuReport {
  return loadAddon().gpus();
}

export function isCudaBackend(backend: KernelBackend): backend is CudaBackend {
  return backend.name === 'cuda';
}

/**
 * Computes MaxSim, sweeps of shared targets and affine scores on the GPUs of this machine, whose memory holds whole
 * releases. The CPU computes alignments, profile scores and sweeps of lists, which are few targets per query.
 * A release that was evicted is loaded again by its next search. A release without room waits until the searches of
 * the loaded ones end, and later searches wait for it.
 * Errors  Fault if no GPU can serve; open rejects with a Fault that states the missing memory
 */
export function cudaBackend(affine: KernelBackend, options: CudaOptions = {}): CudaBackend {
  const { retriesOnCpu = false, addon = loadAddon() } = options;
  const report = addon.gpus();
  if (report.obstacle !== undefined) throw new Fault(`No GPU can serve: ${report.obstacle}.`);
  const calls = storeCalls(addon);
  const retries = retryLog(affine);
  const turns = createTurns(isDeviceBusy);

  const serve: Serve = async (onGpu, onCpu, { signal } = {}) => {
    try {
      return await turns.take(onGpu, signal);
    } catch (error) {
      if (!retriesOnCpu || !isDeviceFault(error)) throw error;
      return onCpu(retries.note(error));
    }
  };
  return {
    name: 'cuda',
    variant: [...new Set(report.gpus.map(({ kernels }) => kernels))].join('+'),
    version: affine.version,
    affineBackend: affine,
    retriesOnCpu,
    retryCount: retries.count,
    watchRetries: retries.watch,
    report: () => addon.gpus(),
    async open(source) {
      const store = openControlStore(addon, affine.variant, source);
      const load = (): Promise<void> =>
        run(addon, {}, (_threads, _isLowPriority, callback) => addon.load(handleOf(store), callback));
      try {
        // If the release has no room now, each search tries to load it again.
        await serve(load, () => Promise.resolve());
        return store;
      } catch (error) {
        store.close();
        throw error;
      }
    },
    ...calls,
    ...servedCalls(addon, calls, serve),
    ...servedScores(addon, calls, serve),
  };
}

/** Result of the GPU, or of the CPU if the GPU fails and a retry is allowed. */
type Serve = <Result>(
  onGpu: () => Promise<Result>,
  onCpu: (retry: KernelRetry) => Promise<Result>,
  options?: KernelOptions,
) => Promise<Result>;

function servedCalls(
  addon: Addon,
  calls: Pick<KernelBackend, 'maxsim' | 'sweep'>,
  serve: Serve,
): Pick<KernelBackend, 'maxsim' | 'sweep' | 'nearest'> {
  return {
    maxsim: (store, queries, eligible, options = {}) =>
      serve(
        () =>
          run<readonly MaxSimSums[]>(addon, options, (threads, isLowPriority, callback) =>
            addon.maxsim(handleOf(store), queries, eligible, true, threads, isLowPriority, callback),
          ),
        async (retry) => {
          const sums = await calls.maxsim(store, queries, eligible, options);
          return sums.map((ofQuery) => ({ ...ofQuery, retry }));
        },
        options,
      ),
    sweep: (store, queries, eligible, floor, options = {}) =>
      serve(
        () =>
          run<readonly SweptSums[]>(addon, options, (threads, isLowPriority, callback) =>
            addon.sweep(handleOf(store), queries, eligible, floor, true, threads, isLowPriority, callback),
          ),
        async (retry) => {
          const sums = await calls.sweep(store, queries, eligible, floor, options);
          return sums.map((ofQuery) => ({ ...ofQuery, retry }));
        },
        options,
      ),
    nearest: (store, queries, eligible, count, options = {}) =>
      serve(
        () =>
          run<readonly NearestSums[]>(addon, options, (_threads, isLowPriority, callback) =>
            addon.nearest(handleOf(store), queries, eligible, count, isLowPriority, callback),
          ),
        async (retry) => {
          const targets = eligible ?? Uint32Array.from({ length: store.targetCount }, (_, target) => target);
          const sums = await calls.maxsim(store, queries, eligible, options);
          return sums.map((ofQuery) => ({ targets, ...ofQuery, retry }));
        },
        options,
      ),
  };
}

function servedScores(
  addon: Addon,
  calls: Pick<KernelBackend, 'affineScores' | 'measure'>,
  serve: Serve,
): Pick<KernelBackend, 'affineScores' | 'measure'> {
  const onGpu = scoreCalls(addon, true);
  return {
    affineScores(store, query, targets, parameters, options = {}) {
      const scoreOnCpu = (): Promise<AffineScores> =>
        calls.affineScores(store, query, targets, parameters, options);
      if (hasProfiles(parameters)) return scoreOnCpu();
      return serve(
        () => onGpu.affineScores(store, query, targets, parameters, options),
        async (retry) => ({ ...(await scoreOnCpu()), retry }),
        options,
      );
    },
    measure(store, query, targets, parameters, options = {}) {
      const measureOnCpu = (): Promise<PairMeasures> =>
        calls.measure(store, query, targets, parameters, options);
      if (hasProfiles(parameters)) return measureOnCpu();
      return serve(
        () => onGpu.measure(store, query, targets, parameters, options),
        async (retry) => ({ ...(await measureOnCpu()), retry }),
        options,
      );
    },
  };
}

/** Whether profiles score. GPUs hold tokens and no profiles. */
function hasProfiles({ profileWeight }: AffineParameters): boolean {
  return profileWeight !== undefined && profileWeight > 0;
}

/** Counts the retries on a backend and calls the listeners. */
function retryLog({ name, variant }: KernelBackend) {
  const listeners: ((retry: KernelRetry) => void)[] = [];
  let count = 0;
  return {
    count: () => count,
    watch: (listener: (retry: KernelRetry) => void) => void listeners.push(listener),
    note(cause: Error): KernelRetry {
      count += 1;
      const retry = { servedBy: `${name}:${variant}`, cause };
      for (const listener of listeners) listener(retry);
      return retry;
    },
  };
}
