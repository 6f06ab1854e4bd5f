import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { isOnPath } from '../tools/homology-peers.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';
import { childrenSeconds, type Rules } from './mmseqs.js';

const execute = promisify(execFile);

/** What jackhmmer finds. */
export interface JackhmmerHits {
  /** Ids of the hits of each protein. */
  readonly ids: readonly ReadonlySet<string>[];
  /** Processor time a protein. Unit: s */
  readonly seconds: number;
}

/**
 * Searches each protein among all others with jackhmmer and its own rule for profiles. It aligns all hits with all
 * paths and corrects for composition, so that what it finds, too, is no chance hit of another tool.
 * Range   undefined if jackhmmer cannot be run (Debian: hmmer)
 * Errors  those of jackhmmer and of the file system
 */
export async function searchWithJackhmmer(
  proteins: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  { maxEvalue, rounds }: Pick<Rules, 'maxEvalue' | 'rounds'>,
  folder: string,
): Promise<JackhmmerHits | undefined> {
  if (!(await isOnPath('jackhmmer'))) return undefined;
  const path = (name: string): string => join(folder, `jackhmmer-${name}`);
  const queries = proteins.map(({ sequence }, at) => ({ id: `q${at}`, sequence }));
  await writeFasta(path('queries'), queries);
  await writeFasta(path('targets'), targets);
  const before = childrenSeconds();
  const bounds = ['-N', String(rounds), '-E', String(maxEvalue), '--cpu', '1'];
  const files = ['--tblout', path('table'), '-o', '/dev/null', path('queries'), path('targets')];
  await execute('jackhmmer', ['--noali', ...bounds, ...files]);
  const ids = proteins.map(() => new Set<string>());
  for await (const line of createInterface({ input: createReadStream(path('table')) })) {
    if (line.startsWith('#')) continue;
    const [target, , query] = line.split(/\s+/);
    ids[Number(query.slice(1))].add(target);
  }
  return { ids, seconds: (childrenSeconds() - before) / proteins.length };
}
