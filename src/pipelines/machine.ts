import type { ApplianceConfig } from '../config.js';
import {
  backendChoiceOf,
  chooseBackend,
  describeGpus,
  servedOperations,
  whyNoGpu,
  type Device,
  type ServedOperation,
} from '../kernels/choose.js';
import { CUDA_IS_VERIFIED, gpuReport } from '../kernels/cuda.js';
import { measureKernels, type KernelFigures } from '../kernels/measure.js';
import { nativeVariants } from '../kernels/native.js';

export { mmseqsVersion } from '../find-homologs/mmseqs-process.js';
export type { Device } from '../kernels/choose.js';

/** GPUs of this machine. */
export interface GpuState {
  /** One description for each GPU that serves or could serve. */
  readonly gpus: readonly string[];
  /** Sentence that says why no GPU serves; undefined where one does. */
  readonly obstacle: string | undefined;
  /** False until the CUDA kernels have agreed with the reference on a real GPU. */
  readonly isVerified: boolean;
}

/** Reads the state of this machine's GPUs under a device setting. @param report of the driver; default: read now */
export function inspectGpus(device: Device, report = gpuReport()): GpuState {
  return {
    gpus: describeGpus(report),
    obstacle: whyNoGpu(device, report),
    isVerified: CUDA_IS_VERIFIED,
  };
}

/** Report of the GPU driver, as inspectGpus takes it. */
export type GpuReport = ReturnType<typeof gpuReport>;

/** Kernels of this machine under the settings. */
export interface KernelState {
  readonly version: string;
  readonly operations: readonly ServedOperation[];
  readonly variants: readonly { readonly name: string; readonly isRunnable: boolean }[];
}

/**
 * Chooses the backend and lists what serves each operation.
 * Errors  Refusal where the configured device cannot run
 */
export async function inspectKernels(config: ApplianceConfig): Promise<KernelState> {
  const backend = await chooseBackend(backendChoiceOf(config));
  return {
    version: backend.version,
    operations: servedOperations(backend),
    variants: nativeVariants(),
  };
}

/**
 * Measures the fastest kernels of the processor against its limit, in under 30 seconds.
 * Errors  Fault where the measuring program fails
 */
export async function measureProcessor(): Promise<KernelFigures> {
  const { variant } = await chooseBackend({ device: 'cpu' });
  return measureKernels(variant);
}
