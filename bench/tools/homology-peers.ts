import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFasta, type BenchProtein } from './proteins.js';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 1 << 30;

export interface PeerHit {
  readonly queryId: string;
  readonly targetId: string;
  readonly eValue: number;
}

export interface Peer {
  readonly name: string;
  /** Name of its Debian package. */
  readonly package: string;
  /** Returns hits with an E-value of at most `largestE`. */
  search(
    queries: readonly BenchProtein[],
    targets: readonly BenchProtein[],
    folder: string,
    largestE: number,
  ): Promise<PeerHit[]>;
}

/** Established tools with E-values. */
export const PEERS: readonly Peer[] = [
  {
    name: 'blastp',
    package: 'ncbi-blast+',
    async search(queries, targets, folder, largestE) {
      const { query, database } = await writeBoth(queries, targets, folder);
      await run('makeblastdb', ['-in', database, '-dbtype', 'prot', '-out', join(folder, 'blast')]);
      const columns = [
        '-outfmt',
        '6 qseqid sseqid evalue',
        '-max_target_seqs',
        '5000',
        '-evalue',
        `${largestE}`,
      ];
      const options = { maxBuffer: MAX_OUTPUT_BYTES };
      const { stdout } = await run(
        'blastp',
        ['-query', query, '-db', join(folder, 'blast'), ...columns],
        options,
      );
      return bestOfEachPair(
        rowsOf(stdout).map(([queryId, targetId, e]) => ({ queryId, targetId, eValue: +e })),
      );
    },
  },
  {
    name: 'phmmer',
    package: 'hmmer',
    async search(queries, targets, folder, largestE) {
      const { query, database } = await writeBoth(queries, targets, folder);
      const options = { maxBuffer: MAX_OUTPUT_BYTES };
      const table = join(folder, 'phmmer.tbl');
      const flags = ['--tblout', table, '-o', '/dev/null', '--noali', '-E', `${largestE}`];
      await run('phmmer', [...flags, query, database], options);
      return rowsOf(await readFile(table, 'utf8')).map((cells) => ({
        targetId: cells[0],
        queryId: cells[2],
        eValue: +cells[4],
      }));
    },
  },
];

/** MMseqs2 at its most sensitive setting without profiles. */
export const MMSEQS: Peer = {
  name: 'mmseqs',
  package: 'mmseqs2',
  async search(queries, targets, folder, largestE) {
    const { query, database } = await writeBoth(queries, targets, folder);
    const table = join(folder, 'mmseqs.m8');
    const flags = ['-s', '7.5', '-e', `${largestE}`, '--max-seqs', '2000', '-v', '0'];
    const columns = ['--format-output', 'query,target,evalue'];
    await run('mmseqs', [
      'easy-search',
      query,
      database,
      table,
      join(folder, 'mmseqs-tmp'),
      ...flags,
      ...columns,
    ]);
    const rows = rowsOf(await readFile(table, 'utf8'));
    return bestOfEachPair(rows.map(([queryId, targetId, e]) => ({ queryId, targetId, eValue: +e })));
  },
};

/** Returns whether the tool can be run. */
export async function isInstalled({ name }: Peer): Promise<boolean> {
  return run(name, ['-h']).then(
    () => true,
    () => false,
  );
}

/** Returns whether the program is found, whatever its options. */
export async function isOnPath(program: string): Promise<boolean> {
  return run('which', [program]).then(
    () => true,
    () => false,
  );
}

async function writeBoth(
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  folder: string,
): Promise<{ query: string; database: string }> {
  const [query, database] = [join(folder, 'peer-queries.fasta'), join(folder, 'peer-targets.fasta')];
  await writeFasta(query, queries);
  await writeFasta(database, targets);
  return { query, database };
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.trim().split(/\s+/));
}

/** Returns the best hit of each pair. BLASTP prints one line per alignment. */
function bestOfEachPair(hits: readonly PeerHit[]): PeerHit[] {
  const best = new Map<string, PeerHit>();
  for (const hit of hits) {
    const key = `${hit.queryId} ${hit.targetId}`;
    const previous = best.get(key);
    if (previous === undefined || hit.eValue < previous.eValue) best.set(key, hit);
  }
  return [...best.values()];
}
