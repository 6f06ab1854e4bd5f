import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { CONTRACT_VERSION } from '../contract/grammar/headers.js';

/** The contract's version and the commit that was checked out; a package without history says so. */
export function buildVersion(packageFolder: string): string {
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: packageFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return `${CONTRACT_VERSION}+${commit.trim()}`;
  } catch {
    return `${CONTRACT_VERSION}+unversioned`;
  }
}

/** Worker id, stable for this process: host, kernels and process. @param kernels such as `cuda:sm_90` */
export function workerOn(kernels: string): string {
  return `${hostname()}:${kernels.replace(':', '-')}:${process.pid}`;
}
