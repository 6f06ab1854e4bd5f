import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

/** Queries per second of `mmseqs search` on the same files and cores; undefined if it is not installed. */
export async function timeMmseqs(
  targets: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  folder: string,
): Promise<number | undefined> {
  const mmseqs = (...options: string[]) => promisify(execFile)('mmseqs', options, { cwd: folder });
  try {
    for (const [name, list] of [
      ['targets', targets],
      ['queries', queries],
    ] as const) {
      await writeFasta(join(folder, `${name}.fasta`), list);
      await mmseqs('createdb', `${name}.fasta`, name, '-v', '0');
    }
    const startedAt = performance.now();
    const threads = String(availableParallelism());
    await mmseqs('search', 'queries', 'targets', 'found', 'tmp', '--threads', threads, '-v', '0');
    return queries.length / ((performance.now() - startedAt) / 1000);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
