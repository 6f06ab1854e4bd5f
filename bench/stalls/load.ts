import type { BenchProtein } from '../tools/proteins.js';
import type { StallClient } from './client.js';

export interface LoadScene extends StallClient {
  readonly folder: string;
  readonly proteins: readonly BenchProtein[];
  readonly uploadMebibytes: number;
  /** The database, and the version of the kernels that a request for partial results names. */
  readonly releaseId: string;
  readonly kernelsVersion: string;
}

/** Work that the server does while /healthz is probed. */
export interface Load {
  readonly name: string;
  /** Prepares the load without measurement. Returns the function to measure. */
  prepare(scene: LoadScene): Promise<() => Promise<void>>;
}
