import { createReadStream, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ProteinRelative as ProteinHomolog } from '../../src/contract/runs/run-relatives.js';
import { runMmseqs } from '../../src/find-homologs/mmseqs-process.js';
import { MMSEQS_COLUMNS, parseMmseqsLine } from '../../src/find-homologs/mmseqs.js';
import type { Release } from '../../src/release/release.js';
import { presentHomolog } from '../../src/services/run-kinds/relatives.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Bounds of the rows of an alignment. */
export interface Rules {
  readonly maxEvalue: number;
  readonly minCoverage: number;
  readonly maxSequences: number;
  /** Number of searches. Each after the first uses the profile of the previous hits. 1.. */
  readonly rounds: number;
}

/** The greatest sensitivity of mmseqs's own presets. ColabFold's server searches with 8. */
const SENSITIVITY = '7.5';

/** Proteins of a release. */
export function proteinsOf({ targets }: Pick<Release, 'targets'>): readonly BenchProtein[] {
  return Array.from({ length: targets.count }, (_, at) => ({
    id: targets.id(at),
    sequence: targets.sequence(at),
  }));
}

/**
 * Searches each protein among all others with `mmseqs search --num-iterations`. Returns the hits with
 * mmseqs's alignments.
 */
export async function searchWithMmseqs(
  proteins: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  { maxEvalue, minCoverage, maxSequences, rounds }: Rules,
  folder: string,
): Promise<readonly (readonly ProteinHomolog[])[]> {
  const path = (name: string): string => join(folder, `${rounds}-${name}`);
  const run = (...words: readonly string[]): Promise<string> => runMmseqs([...words, '-v', '1'], {});
  const queries = proteins.map(({ sequence }, at) => `>q${at}\n${sequence}\n`);
  const all = targets.map(({ id, sequence }) => `>${id}\n${sequence}\n`);
  await writeFile(path('queries.fasta'), queries.join(''));
  await writeFile(path('targets.fasta'), all.join(''));
  await run('createdb', path('queries.fasta'), path('queries'));
  await run('createdb', path('targets.fasta'), path('targets'));
  const files = [path('queries'), path('targets'), path('result')];
  const bounds = ['-s', SENSITIVITY, '-e', String(maxEvalue), '-c', String(minCoverage), '--cov-mode', '2'];
  const width = ['--max-seqs', String(maxSequences), '--threads', String(availableParallelism())];
  await run(
    'search',
    ...files,
    path('scratch'),
    ...bounds,
    ...width,
    '-a',
    '--num-iterations',
    String(rounds),
  );
  await run('convertalis', ...files, path('table'), '--format-output', MMSEQS_COLUMNS);
  const homologs: ProteinHomolog[][] = proteins.map(() => []);
  for await (const line of createInterface({ input: createReadStream(path('table')) })) {
    const { query, homolog } = parseMmseqsLine(line, rounds);
    homologs[query].push(presentHomolog(homolog, proteins[query].sequence));
  }
  return homologs;
}

/** Ticks a second of times in /proc. Source: USER_HZ of Linux, 100 on all architectures that Node supports */
const TICKS_PER_SECOND = 100;
/** Positions of cutime and cstime among the fields of /proc/self/stat after the name of the command. */
const CHILDREN_FIELDS = [13, 14];

/** Processor time of all ended child processes so far. Unit: s. Range: 0 on systems other than Linux */
export function childrenSeconds(): number {
  try {
    const status = readFileSync('/proc/self/stat', 'latin1');
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return CHILDREN_FIELDS.reduce((sum, field) => sum + Number(fields[field]), 0) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}
