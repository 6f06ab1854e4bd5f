import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

const execute = promisify(execFile);
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;

export interface PeerFigures {
  readonly queries_per_second?: number;
  /** Our rate ÷ the peer's, for the same queries, database, cores and run. */
  readonly ratio?: number;
  readonly skipped?: string;
}

/** Times the same queries against the same database with the installed classical tools. */
export async function timePeers(
  targets: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  folder: string,
  ourQueriesPerSecond: number,
): Promise<Readonly<Record<string, PeerFigures>>> {
  const database = join(folder, 'peers.fasta');
  const queryFile = join(folder, 'queries.fasta');
  await writeFasta(database, targets);
  await writeFasta(queryFile, queries);
  const threads = String(availableParallelism());
  const peers: Record<string, { prepare?: readonly string[]; search: readonly string[] }> = {
    mmseqs: {
      search: [
        'mmseqs',
        'easy-search',
        queryFile,
        database,
        join(folder, 'm8'),
        join(folder, 'tmp'),
        '--threads',
        threads,
        '-v',
        '0',
      ],
    },
    blastp: {
      prepare: ['makeblastdb', '-in', database, '-dbtype', 'prot', '-out', join(folder, 'blast')],
      search: [
        'blastp',
        '-query',
        queryFile,
        '-db',
        join(folder, 'blast'),
        '-num_threads',
        threads,
        '-outfmt',
        '6',
      ],
    },
    phmmer: { search: ['phmmer', '--noali', '--cpu', threads, '-o', '/dev/null', queryFile, database] },
  };
  const figures: Record<string, PeerFigures> = {};
  for (const [name, { prepare, search }] of Object.entries(peers)) {
    figures[name] = await timePeer(prepare, search, queries.length, ourQueriesPerSecond);
    const { queries_per_second: rate, ratio, skipped } = figures[name];
    console.log(
      rate === undefined
        ? `  ${name}: skipped, ${skipped}`
        : `  ${name}: ${rate.toFixed(1)} queries/s; Gloaming is ${ratio!.toFixed(2)} times as fast`,
    );
  }
  return figures;
}

async function timePeer(
  prepare: readonly string[] | undefined,
  [command, ...options]: readonly string[],
  queryCount: number,
  ourRate: number,
): Promise<PeerFigures> {
  try {
    if (prepare !== undefined) await execute(prepare[0], prepare.slice(1));
    const startedAt = performance.now();
    await execute(command, options, { maxBuffer: OUTPUT_MAX_BYTES });
    const rate = queryCount / ((performance.now() - startedAt) / 1000);
    return { queries_per_second: rate, ratio: ourRate / rate };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { skipped: code === 'ENOENT' ? 'not installed' : String((error as Error).message) };
  }
}
