import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Fault } from '../errors.js';

/** Figures of kernels-bench on this machine, with the names of its JSON. */
export interface KernelFigures {
  readonly kernels: string;
  readonly maxsim: {
    readonly d64: DimensionFigures;
    readonly d128: DimensionFigures;
    /** Time of one thread ÷ time of two, by the clock: other processes count. */
    readonly two_core_scaling: number;
    /** Twice the processor time of one thread ÷ that of two: what an idle machine of two cores would reach. */
    readonly two_core_scaling_processor: number;
  };
  readonly affine: {
    /** 10⁹ cells a second on one core, dot products of dimension 64 included. */
    readonly gcups_core: number;
    /** Share of the peak that the multiply-adds of these dot products reach; 0 without a probe. */
    readonly peak_share: number;
    readonly align_gcups_core: number;
    /** 1,000 targets of 350 residues for a query of 300, two threads, by the clock. */
    readonly ms_1000x350: number;
    /** The same with profile scores; their twenty products count at the peak. */
    readonly profile_gcups_core: number;
    readonly profile_peak_share: number;
    readonly profile_align_gcups_core: number;
  };
}

export interface DimensionFigures {
  /** Share of the multiply-adds that a loop on registers alone reaches in the same run; 0 without such a probe. */
  readonly peak_share: number;
  /** 10⁹ int8 operations a second on one core; a multiply-add is two. */
  readonly gops: number;
}

/**
 * Runs kernels-bench, which checks an answer before it measures. It takes less than 30 seconds.
 * Default  variant: the fastest that this machine runs
 * Errors   Fault if the bench is not built, cannot run here, or finds a wrong answer
 */
export async function measureKernels(variant?: string): Promise<KernelFigures> {
  // From dist/src/kernels the executable is in dist/kernels.
  const program = fileURLToPath(new URL('../../kernels/kernels-bench', import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(program, variant === undefined ? [] : [variant]);
    return JSON.parse(stdout) as KernelFigures;
  } catch (cause) {
    throw new Fault('The bench of the native kernels failed.', { cause });
  }
}
