import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isOnPath } from '../tools/homology-peers.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

const run = promisify(execFile);

/** Pairs of ids that a tool reports as homologs. */
export type Claims = ReadonlySet<string>;

export const claimOf = (query: string, target: string): string => `${query}\t${target}`;

/**
 * An established tool as a command: `$Q` is the file of queries, `$T` the database, `$N` the threads, `$O` the table.
 */
export interface Tool {
  readonly name: string;
  /** Builds the database of targets.fasta once. It is not timed. */
  readonly prepare: string;
  readonly search: string;
}

/** Largest E-value of a hit. The columns are query, target and E-value. */
const LARGEST_E = 0.01;
const mmseqs = (sensitivity: string): Tool => ({
  name: `mmseqs -s ${sensitivity}`,
  prepare: 'mmseqs createdb targets.fasta mmseqs-targets -v 0',
  search:
    `mmseqs easy-search $Q mmseqs-targets $O mmseqs-tmp -s ${sensitivity} -e ${LARGEST_E} --max-seqs 1000 ` +
    '--threads $N -v 0 --format-output query,target,evalue',
});
export const TOOLS: readonly Tool[] = [
  mmseqs('5.7'),
  mmseqs('7.5'),
  {
    name: 'diamond --very-sensitive',
    prepare: 'diamond makedb --in targets.fasta --db diamond-targets --quiet',
    search:
      `diamond blastp --query $Q --db diamond-targets --out $O --very-sensitive -e ${LARGEST_E} -k 1000 ` +
      '--threads $N --quiet --outfmt 6 qseqid sseqid evalue',
  },
  {
    name: 'blastp',
    prepare: 'makeblastdb -in targets.fasta -dbtype prot -out blast-targets',
    search:
      `blastp -query $Q -db blast-targets -out $O -evalue ${LARGEST_E} -max_target_seqs 1000 -num_threads $N ` +
      "-outfmt '6 qseqid sseqid evalue'",
  },
];

/** Result of a tool: processor seconds for one query and for all, and the reported pairs. */
export interface ToolRun {
  readonly oneSeconds: number;
  readonly allSeconds: number;
  readonly claims: Claims;
}

/** Runs a tool with one query and with all of them; undefined if it is not installed. */
export async function runTool(
  tool: Tool,
  queries: readonly BenchProtein[],
  folder: string,
  threads: number,
  largestE: number,
): Promise<ToolRun | undefined> {
  const [program] = tool.prepare.split(' ');
  if (!(await isOnPath(program))) return undefined;
  await writeFasta(join(folder, 'one.fasta'), queries.slice(0, 1));
  await writeFasta(join(folder, 'all.fasta'), queries);
  await run('bash', ['-c', `${tool.prepare} > /dev/null`], { cwd: folder });
  const oneSeconds = await processorSeconds(tool.search, 'one.fasta', folder, threads);
  const allSeconds = await processorSeconds(tool.search, 'all.fasta', folder, threads);
  const table = await readFile(join(folder, 'found.tsv'), 'utf8');
  const claims = new Set<string>();
  for (const line of table.split('\n')) {
    const [query, target, e] = line.split('\t');
    if (target !== undefined && query !== target && Number(e) <= largestE) claims.add(claimOf(query, target));
  }
  return { oneSeconds, allSeconds, claims };
}

/** User and system time of a command with all its child processes. */
async function processorSeconds(
  search: string,
  queries: string,
  folder: string,
  threads: number,
): Promise<number> {
  const env = { ...process.env, Q: queries, O: 'found.tsv', N: String(threads), TIMEFORMAT: '%U %S' };
  const { stderr } = await run('bash', ['-c', `time (${search} > /dev/null 2> /dev/null)`], {
    cwd: folder,
    env,
  });
  const [user, system] = stderr.trim().split('\n').at(-1)!.split(' ');
  return Number(user) + Number(system);
}
