import type { Gpu } from '../kernels/addon.js';
import { isCudaBackend, type CudaBackend } from '../kernels/cuda.js';
import type { KernelBackend } from '../kernels/kernels.js';

export type { Gpu };

/** State and failures of the GPUs that serve an appliance. */
export type Gpus = Pick<CudaBackend, 'report' | 'retryCount' | 'watchRetries'>;

/** Returns the GPUs behind a backend; undefined without a GPU backend. */
export function gpusOf(backend: KernelBackend): Gpus | undefined {
  return isCudaBackend(backend) ? backend : undefined;
}
