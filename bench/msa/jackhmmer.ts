import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { isOnPath } from '../tools/homology-peers.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';
import { childrenSeconds, type Rules } from './mmseqs.js';

const execute = promisify(execFile);

/** Position of the cell with the first profile column of a domain. The last one follows. Source: HMMER's user guide */
const FIRST_PROFILE_COLUMN = 15;

/** What jackhmmer finds. */
export interface JackhmmerHits {
  /** Ids of the hits of each protein. */
  readonly ids: readonly ReadonlySet<string>[];
  /** Those of which one domain covers as much of the protein as a row has to. */
  readonly covering: readonly ReadonlySet<string>[];
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
  { maxEvalue, minCoverage, rounds }: Pick<Rules, 'maxEvalue' | 'minCoverage' | 'rounds'>,
  folder: string,
): Promise<JackhmmerHits | undefined> {
  if (!(await isOnPath('jackhmmer'))) return undefined;
  const path = (name: string): string => join(folder, `jackhmmer-${name}`);
  const queries = proteins.map(({ sequence }, at) => ({ id: `q${at}`, sequence }));
  await writeFasta(path('queries'), queries);
  await writeFasta(path('targets'), targets);
  const before = childrenSeconds();
  const bounds = ['-N', String(rounds), '-E', String(maxEvalue), '--cpu', '1'];
  const files = ['--domtblout', path('table'), '-o', '/dev/null', path('queries'), path('targets')];
  await execute('jackhmmer', ['--noali', ...bounds, ...files]);
  const ids = proteins.map(() => new Set<string>());
  const covering = proteins.map(() => new Set<string>());
  for await (const line of createInterface({ input: createReadStream(path('table')) })) {
    if (line.startsWith('#')) continue;
    const cells = line.split(/\s+/);
    const [target, , , query, , length] = cells;
    const at = Number(query.slice(1));
    ids[at].add(target);
    const [first, last] = cells.slice(FIRST_PROFILE_COLUMN);
    if (Number(last) - Number(first) + 1 >= minCoverage * Number(length)) covering[at].add(target);
  }
  return { ids, covering, seconds: (childrenSeconds() - before) / proteins.length };
}
