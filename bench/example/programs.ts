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
    version: 'blastp -version',
    prepare: makeBlastDatabase,
    search: `blastp -query query.fasta -db blast ${blastColumns}`,
  },
  {
    name: 'PSI-BLAST, 3 rounds',
    version: 'psiblast -version',
    prepare: makeBlastDatabase,
    search: `psiblast -query query.fasta -db blast -num_iterations 3 ${blastColumns}`,
  },
  {
    name: 'MMseqs2',
    version: 'mmseqs version',
    prepare: 'mmseqs createdb targets.fasta mmseqs -v 0',
    search: mmseqs(1),
  },
  {
    name: 'MMseqs2, 3 rounds',
    version: 'mmseqs version',
    prepare: 'mmseqs createdb targets.fasta mmseqs -v 0',
    search: mmseqs(3),
  },
];

/**
 * Searches each query by each program, one by one, so that a profile of rounds is that of one query.
 * @returns by program, the E-values by query; of several hits or rounds the smallest
 * Errors  those of the programs
 */
export async function searchAll(
  programs: readonly Program[],
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  folder: string,
  largestE: number,
): Promise<readonly ReadonlyMap<string, EValues>[]> {
  await writeFasta(join(folder, 'targets.fasta'), targets);
  const results: ReadonlyMap<string, EValues>[] = [];
  const shell = (command: string): Promise<unknown> =>
    run('bash', ['-c', command], { cwd: folder, env: { ...process.env, E: String(largestE) } });
  for (const { prepare, search } of programs) {
    await shell(`${prepare} >/dev/null`);
    const byQuery = new Map<string, EValues>();
    for (const query of queries) {
      await writeFasta(join(folder, 'query.fasta'), [query]);
      await shell(`rm -rf found.tsv mmseqs-tmp; ${search} >/dev/null 2>&1`);
      byQuery.set(query.id, readTable(await readFile(join(folder, 'found.tsv'), 'utf8')));
    }
    results.push(byQuery);
  }
  return results;
}

/** Returns the first line that the program prints about its version. Errors  those of the program */
export async function versionOf({ version }: Program): Promise<string> {
  const { stdout } = await run('bash', ['-c', version]);
  return stdout
    .trim()
    .split('\n')[0]
    .replace(/^\w+: /, '');
}

function readTable(text: string): EValues {
  const best = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, target, e] = line.split('\t');
    // PSI-BLAST also writes blank lines, and a sentence when it has converged.
    if (e !== undefined) best.set(target, Math.min(Number(e), best.get(target) ?? Infinity));
  }
  return best;
}
