import { Fault } from '../errors.js';
import { handleOf, loadAddon, openStore, run, storeCalls, type GpuReport } from './addon.js';
import type { KernelBackend } from './kernels.js';

/**
 * Whether kernels-cuda-equality has passed on a real GPU. Until then nothing takes the GPU by itself: its numbers are
 * proven on emulated lanes only.
 */
export const CUDA_IS_VERIFIED: boolean = false;

/** What CUDA serves, and the backend that serves the rest. */
export interface CudaBackend extends KernelBackend {
  readonly affineBackend: KernelBackend;
}

/** Opens the driver at its first call, which may take a second. */
export function gpuReport(): GpuReport {
  return loadAddon().gpus();
}

/**
 * MaxSim on the GPUs of this machine, whose memory holds whole releases; affine operations stay on the CPU.
 * A release that has given way to another comes back with its next search.
 * Errors  Fault where no GPU can serve; open rejects with one that says how much memory is missing
 */
export function cudaBackend(affine: KernelBackend): CudaBackend {
  const addon = loadAddon();
  const report = addon.gpus();
  if (report.obstacle !== undefined) throw new Fault(`No GPU can serve: ${report.obstacle}.`);
  return {
    name: 'cuda',
    variant: [...new Set(report.gpus.map(({ kernels }) => kernels))].join('+'),
    version: affine.version,
    affineBackend: affine,
    async open(source) {
      const store = openStore(addon, affine.variant, source, true);
      try {
        await run<void>(addon, {}, (_threads, _isBackground, callback) =>
          addon.load(handleOf(store), callback),
        );
        return store;
      } catch (error) {
        store.close();
        throw error;
      }
    },
    ...storeCalls(addon),
  };
}
