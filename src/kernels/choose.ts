import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Fault } from '../errors.js';
import { GIBIBYTE_BYTES } from '../limits.js';
import type { GpuReport } from './addon.js';
import { CUDA_IS_VERIFIED, cudaBackend, gpuReport, isCudaBackend, type CudaBackend } from './cuda.js';
import type { KernelBackend } from './kernels.js';
import { limitMemory, nativeBackend, nativeVariants } from './native.js';
import { openTensorflowGpu, type TensorflowBackend } from './tensorflow.js';

/** `auto` is a GPU if there is one and the CUDA backend has been verified; the CPU then repeats what a GPU fails. */
export type Device = 'auto' | 'cpu' | 'cuda' | 'tensorflow';

export interface BackendChoice {
  readonly device: Device;
  /**
   * Native instruction set: `reference`, `avx2` …
   * Default  GLOAMING_KERNELS of the environment, then the fastest that runs here
   */
  readonly variant?: string;
  /** Repeats failed GPU calls on the CPU (device cuda). Default false. */
  readonly retriesOnCpu?: boolean;
  /** Bytes of all opened databases that stay in memory; results do not depend on it. */
  readonly memoryBytes?: number;
}

/** Backend options of the configuration. */
export function backendChoiceOf({
  device,
  onDeviceError,
  memoryBytes,
}: {
  readonly device: Device;
  readonly onDeviceError: 'fail' | 'retry_on_cpu';
  readonly memoryBytes: number;
}): BackendChoice {
  return { device, retriesOnCpu: onDeviceError === 'retry_on_cpu', memoryBytes };
}

/**
 * Chooses the backend that serves all kernels of this process.
 * Errors  Fault if the configured device or instruction set cannot serve; there is no silent fall-back
 */
export async function chooseBackend({
  device,
  variant,
  retriesOnCpu,
  memoryBytes,
}: BackendChoice): Promise<KernelBackend> {
  const native = nativeBackend(variant ?? process.env.GLOAMING_KERNELS);
  if (memoryBytes !== undefined) limitMemory(memoryBytes);
  // CUDA_IS_VERIFIED is tested first, because a look at the GPUs opens all of them and takes memory of each.
  const isAutoCpu = device === 'auto' && (!CUDA_IS_VERIFIED || whyNoGpu(device) !== undefined);
  if (device === 'cpu' || isAutoCpu) return native;
  const obstacle = gpuObstacle(device);
  if (obstacle !== undefined) {
    throw new Fault(`The device is ${device}, but ${obstacle}. Fix this, or set device to cpu.`);
  }
  if (device === 'tensorflow') return openTensorflowGpu(native);
  // A GPU that was not asked for must not fail a search, as one does that is too small for a database.
  return cudaBackend(native, { retriesOnCpu: retriesOnCpu === true || device === 'auto' });
}

/** Returns the backend on the CPU beside one of a GPU, for calls that are too small for a GPU. */
export function cpuBackend(backend: KernelBackend): KernelBackend {
  return hasAffineBackend(backend) ? backend.affineBackend : backend;
}

/** An operation and its backend, as `gloaming doctor` prints it. */
export interface ServedOperation {
  readonly operation: 'maxsim' | 'sampled sweep' | 'sweep of pools' | 'affine score' | 'affine alignment';
  /** `native avx512vnni`. */
  readonly servedBy: string;
  /** One sentence. */
  readonly reason: string;
}

/** Lists the operations, each with its backend and the reason. */
export function servedOperations(backend: KernelBackend): readonly ServedOperation[] {
  const affine = cpuBackend(backend);
  return [
    { operation: 'maxsim', ...servedBy(backend) },
    { operation: 'sampled sweep', ...servedBy(isCudaBackend(backend) ? backend : affine) },
    { operation: 'sweep of pools', ...servedBy(affine) },
    { operation: 'affine score', ...(isCudaBackend(backend) ? servedScore(backend) : servedBy(affine)) },
    { operation: 'affine alignment', ...servedBy(affine) },
  ];
}

/** Returns in one sentence why no GPU is used with this device setting; undefined if one is used. */
export function whyNoGpu(device: Device, report?: GpuReport): string | undefined {
  const obstacle = gpuObstacle(device, report);
  if (obstacle !== undefined) return `No GPU is used: ${obstacle}.`;
  if (device === 'cpu') return 'No GPU is used: the device setting is cpu.';
  if (device === 'auto' && !CUDA_IS_VERIFIED) {
    return 'No GPU is used: the CUDA backend is not verified on a GPU yet; the device setting cuda selects it.';
  }
  return undefined;
}

/** Describes each GPU in one line, as `gloaming doctor` prints it, unused ones too; empty if no GPU can serve. */
export function describeGpus(report = gpuReport()): readonly string[] {
  if (report.obstacle !== undefined) return [];
  const driver = `${Math.floor(report.driverVersion / 1000)}.${Math.floor((report.driverVersion % 1000) / 10)}`;
  const serving = report.gpus.map(({ ordinal, name, computeCapability, kernels, totalBytes, freeBytes }) => {
    const [total, free] = [totalBytes, freeBytes].map((bytes) => (bytes / GIBIBYTE_BYTES).toFixed(1));
    const memory = `${total} GiB, ${free} free`;
    return `GPU ${ordinal}: ${name} (${computeCapability}), ${memory}, driver for CUDA ${driver}, ${kernels} kernels`;
  });
  return [...serving, ...report.unused.map((reason) => `${reason}; it is not used`)];
}

function hasAffineBackend(backend: KernelBackend): backend is CudaBackend | TensorflowBackend {
  return 'affineBackend' in backend;
}

function servedBy(backend: KernelBackend): Omit<ServedOperation, 'operation'> {
  const { name, variant } = backend;
  const reason =
    name === 'native' ? nativeReason(variant) : `The device setting is ${name}.${onError(backend)}`;
  return { servedBy: `${name} ${variant}`, reason };
}

function servedScore(backend: CudaBackend): Omit<ServedOperation, 'operation'> {
  const { name, variant } = backend.affineBackend;
  const onGpu = servedBy(backend);
  return { ...onGpu, reason: `${onGpu.reason} Scores with profiles are computed by ${name} ${variant}.` };
}

function onError(backend: KernelBackend): string {
  if (!isCudaBackend(backend)) return '';
  return backend.retriesOnCpu
    ? ' If a GPU fails, the CPU repeats the search (on_device_error).'
    : ' If a GPU fails, the search fails (on_device_error).';
}

function nativeReason(variant: string): string {
  const all = nativeVariants();
  const faster = all.slice(
    0,
    all.findIndex(({ name }) => name === variant),
  );
  if (faster.some(({ isRunnable }) => isRunnable)) return 'GLOAMING_KERNELS selects these kernels.';
  if (faster.length === 0) return 'These are the fastest kernels of this build.';
  const missing = faster.map(({ name }) => name).join(', ');
  return `These are the fastest kernels that this processor runs; it lacks ${missing}.`;
}

function gpuObstacle(device: Device, report?: GpuReport): string | undefined {
  if (device !== 'tensorflow') return (report ?? gpuReport()).obstacle;
  if (!existsSync('/dev/nvidiactl')) return 'no NVIDIA driver answers on this machine';
  try {
    createRequire(import.meta.url).resolve('@tensorflow/tfjs-node-gpu');
  } catch {
    return 'the optional package @tensorflow/tfjs-node-gpu is not installed';
  }
  return undefined;
}
