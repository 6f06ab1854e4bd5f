import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Fault } from '../errors.js';
import type { KernelBackend } from './kernels.js';
import { nativeBackend, nativeVariants } from './native.js';

export interface BackendWish {
  readonly device: 'cpu' | 'cuda';
  /** Native instruction set: `reference`, `avx2` …; default: GLOAMING_KERNELS of the environment, then the fastest. */
  readonly variant?: string;
  /** Opens the TensorFlow backend on a GPU; rejects with a Fault that says why it cannot. */
  readonly openTensorflow?: () => Promise<KernelBackend>;
}

/**
 * The backend that serves all kernels of this process.
 * Errors  Fault where the wanted device or instruction set cannot serve; there is no silent fall-back
 */
export async function chooseBackend({ device, variant, openTensorflow }: BackendWish): Promise<KernelBackend> {
  if (device === 'cpu') return nativeBackend(variant ?? process.env.GLOAMING_KERNELS);
  const obstacle = gpuObstacle();
  if (obstacle !== undefined) throw new Fault(`The device is cuda, but ${obstacle}.`);
  if (openTensorflow === undefined) throw new Fault('The device is cuda, but no GPU backend is part of this build.');
  return openTensorflow();
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
  const servedBy = `${backend.name} ${backend.variant}`;
  const reason = backend.name === 'native' ? nativeReason(backend.variant) : 'The configured device is cuda.';
  return [
    { operation: 'maxsim', servedBy, reason },
    { operation: 'affine score', servedBy, reason },
    { operation: 'affine alignment', servedBy, reason },
  ];
}

/** Why a GPU is not used with this device setting; undefined where it is. One sentence. */
export function whyNoGpu(device: 'cpu' | 'cuda'): string | undefined {
  const obstacle = gpuObstacle();
  if (obstacle !== undefined) return `No GPU is used: ${obstacle}.`;
  return device === 'cpu' ? 'No GPU is used: the device setting is cpu.' : undefined;
}

function nativeReason(variant: string): string {
  const faster = nativeVariants().slice(
    0,
    nativeVariants().findIndex(({ name }) => name === variant),
  );
  if (faster.some(({ isRunnable }) => isRunnable)) return 'GLOAMING_KERNELS asks for these kernels.';
  if (faster.length === 0) return 'They are the fastest kernels in this build.';
  return `They are the fastest that this processor runs; it lacks ${faster.map(({ name }) => name).join(', ')}.`;
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
