import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Fault } from '../errors.js';
import type { KernelBackend } from './kernels.js';
import { nativeBackend, nativeVariants } from './native.js';
import { isTensorflow, openTensorflowGpu } from './tensorflow.js';

export interface BackendWish {
  readonly device: 'cpu' | 'cuda';
  /**
   * Native instruction set: `reference`, `avx2` …
   * Default  GLOAMING_KERNELS of the environment, then the fastest that runs here
   */
  readonly variant?: string;
}

/**
 * The backend that serves all kernels of this process.
 * Errors  Fault where the wanted device or instruction set cannot serve; there is no silent fall-back
 */
export async function chooseBackend({ device, variant }: BackendWish): Promise<KernelBackend> {
  const native = nativeBackend(variant ?? process.env.GLOAMING_KERNELS);
  if (device === 'cpu') return native;
  const obstacle = gpuObstacle();
  if (obstacle !== undefined) throw new Fault(`The device is cuda, but ${obstacle}.`);
  return openTensorflowGpu(native);
}

/** Which backend serves an operation, as `gloaming doctor` prints it. */
export interface ServedOperation {
  readonly operation: 'maxsim' | 'affine score' | 'affine alignment';
  /** `native avx512vnni`. */
  readonly servedBy: string;
  /** One sentence. */
  readonly reason: string;
}

/** Which backend serves which operation, and why. */
export function servedOperations(backend: KernelBackend): readonly ServedOperation[] {
  const affine = isTensorflow(backend) ? backend.affineBackend : backend;
  return [
    { operation: 'maxsim', ...servedBy(backend) },
    { operation: 'affine score', ...servedBy(affine) },
    { operation: 'affine alignment', ...servedBy(affine) },
  ];
}

/** Why a GPU is not used with this device setting; undefined where it is. One sentence. */
export function whyNoGpu(device: 'cpu' | 'cuda'): string | undefined {
  const obstacle = gpuObstacle();
  if (obstacle !== undefined) return `No GPU is used: ${obstacle}.`;
  return device === 'cpu' ? 'No GPU is used: the device setting is cpu.' : undefined;
}

function servedBy(backend: KernelBackend): Omit<ServedOperation, 'operation'> {
  const reason = backend.name === 'native' ? nativeReason(backend.variant) : 'The device setting is cuda.';
  return { servedBy: `${backend.name} ${backend.variant}`, reason };
}

function nativeReason(variant: string): string {
  const all = nativeVariants();
  const faster = all.slice(
    0,
    all.findIndex(({ name }) => name === variant),
  );
  if (faster.some(({ isRunnable }) => isRunnable)) return 'GLOAMING_KERNELS asks for these kernels.';
  if (faster.length === 0) return 'They are the fastest kernels in this build.';
  const missing = faster.map(({ name }) => name).join(', ');
  return `They are the fastest that this processor runs; it lacks ${missing}.`;
}

function gpuObstacle(): string | undefined {
  if (!existsSync('/dev/nvidiactl')) return 'no NVIDIA driver answers on this machine';
  try {
    createRequire(import.meta.url).resolve('@tensorflow/tfjs-node-gpu');
  } catch {
    return 'the optional package @tensorflow/tfjs-node-gpu is not installed';
  }
  return undefined;
}
