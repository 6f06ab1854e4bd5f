import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

const run = promisify(execFile);

/** E-values of one query by target. A target that is not listed has none. */
export type EValues = ReadonlyMap<string, number>;

/** An established program as commands of a shell. */
export interface Program {
  readonly name: string;
  /** Whether it searches again with a profile of its finds. */
  readonly hasRounds: boolean;
  readonly version: string;
  /** Builds the database of targets.fasta. */
  readonly prepare: string;
  /** Searches query.fasta; writes found.tsv with query, target and E-value. `$E` is the largest listed E-value. */
  readonly search: string;
}

const makeBlastDatabase = 'makeblastdb -in targets.fasta -dbtype prot -out blast';
const blastColumns = "-max_target_seqs 5000 -evalue $E -outfmt '6 qseqid sseqid evalue' -out found.tsv";
const mmseqs = (rounds: number): string =>
  'mmseqs easy-search query.fasta mmseqs found.tsv mmseqs-tmp -s 7.5 -e $E --max-seqs 5000 -v 0 ' +
  `${rounds === 1 ? '' : `--num-iterations ${rounds} `}--format-output query,target,evalue`;

export const PROGRAMS: readonly Program[] = [
  {
    name: 'BLASTP',
    hasRounds: false,
    version: 'blastp -version',
    prepare: makeBlastDatabase,
    search: `blastp -query query.fasta -db blast ${blastColumns}`,
  },
  {
    name: 'PSI-BLAST, 3 rounds',
    hasRounds: true,
    version: 'psiblast -version',
    prepare: makeBlastDatabase,
    search: `psiblast -query query.fasta -db blast -num_iterations 3 ${blastColumns}`,
  },
  {
    name: 'MMseqs2',
    hasRounds: false,
    version: 'mmseqs version',
    prepare: 'mmseqs createdb targets.fasta mmseqs -v 0',
    search: mmseqs(1),
  },
  {
    name: 'MMseqs2, 3 rounds',
    hasRounds: true,
    version: 'mmseqs version',
    prepare: 'mmseqs createdb targets.fasta mmseqs -v 0',
    search: mmseqs(3),
  },
];

/**
 * Searches queries by one program: each alone by a program with rounds, whose profile is that of one query.
 * @returns the E-values by query; of several hits or rounds the smallest
 * Errors  those of the program
 */
export async function searchBy(
  { hasRounds, prepare, search }: Program,
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  folder: string,
  largestE: number,
): Promise<ReadonlyMap<string, EValues>> {
  const shell = (command: string): Promise<unknown> =>
    run('bash', ['-c', command], { cwd: folder, env: { ...process.env, E: String(largestE) } });
  await writeFasta(join(folder, 'targets.fasta'), targets);
  await shell(`${prepare} >/dev/null`);
  const byQuery = new Map<string, Map<string, number>>();
  for (const part of hasRounds ? queries.map((query) => [query]) : [queries]) {
    await writeFasta(join(folder, 'query.fasta'), part);
    await shell(`rm -rf found.tsv mmseqs-tmp; ${search} >/dev/null 2>&1`);
    const table = await readFile(join(folder, 'found.tsv'), 'utf8');
    for (const line of table.split('\n')) {
      const [query, target, e] = line.split('\t');
      // PSI-BLAST also writes blank lines, and a sentence when it has converged.
      if (e === undefined) continue;
      const best = byQuery.get(query) ?? new Map<string, number>();
      byQuery.set(query, best.set(target, Math.min(Number(e), best.get(target) ?? Infinity)));
    }
  }
  return byQuery;
}

/** Returns the first line that the program prints about its version. Errors  those of the program */
export async function versionOf({ version }: Program): Promise<string> {
  const { stdout } = await run('bash', ['-c', version]);
  return stdout
    .trim()
    .split('\n')[0]
    .replace(/^\w+: /, '');
}
