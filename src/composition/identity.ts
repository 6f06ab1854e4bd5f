import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CONTRACT_VERSION } from '../contract/grammar/headers.js';

/** Returns the contract's version with the commit: that of the package's build, or the one that is checked out. */
export function buildVersion(packageFolder: string): string {
  const packaged = join(packageFolder, 'COMMIT');
  if (existsSync(packaged)) return `${CONTRACT_VERSION}+${readFileSync(packaged, 'utf8').trim()}`;
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

/**
 * Returns a worker id, stable for this process: host, kernels and process.
 * @param kernels such as `cuda:sm_90`
 */
export function workerOn(kernels: string): string {
  return `${hostname()}:${kernels.replace(':', '-')}:${process.pid}`;
}
