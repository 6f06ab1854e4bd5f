import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, appendFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  alignHomologs,
  hasProfileTools,
  searchProfiles,
  writeDatabase,
  writeProfiles,
} from '../related-folds/hhsuite.js';
import type { Hit } from '../sensitivity/metrics.js';
import { isInstalled, MMSEQS, PEERS } from '../tools/homology-peers.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

/*
 * Other tools on the same queries and targets. Those with profiles take homologs from the same background. jackhmmer
 * and mmseqs search targets and background together in three rounds, and the targets among the hits of the last round
 * count. HHsearch compares profiles of two rounds of mmseqs, as in bench/related-folds.
 */

const run = promisify(execFile);
const ROUNDS = '3';
/** Largest listed E-value. */
const LARGEST_E = 100;
const MAX_OUTPUT_BYTES = 1 << 30;

interface Task {
  readonly queries: readonly BenchProtein[];
  readonly targets: readonly BenchProtein[];
  readonly background: string;
  readonly folder: string;
}

/** A tool that searches with profiles. */
interface ProfilePeer {
  readonly name: string;
  isInstalled(): Promise<boolean>;
  search(task: Task): Promise<readonly Hit[]>;
}

/**
 * Runs the tools that are installed. Without a background, those with profiles are left out.
 * Errors  those of the tools and the file system
 */
export async function measurePeers(
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  background: string | undefined,
  folder: string,
): Promise<{
  readonly rankings: Readonly<Record<string, readonly Hit[]>>;
  readonly skipped: readonly string[];
}> {
  const rankings: Record<string, readonly Hit[]> = {};
  const skipped: string[] = [];
  for (const peer of [...PEERS, MMSEQS]) {
    if (!(await isInstalled(peer))) {
      skipped.push(`${peer.name} (${peer.package})`);
      continue;
    }
    const at = await scratch(folder, peer.name);
    const hits = await peer.search(queries, targets, at, LARGEST_E);
    rankings[peer.name] = hits.map(({ queryId, targetId, eValue }) => ({
      queryId,
      targetId,
      score: -ln(eValue),
    }));
  }
  for (const peer of background === undefined ? [] : PROFILE_PEERS) {
    if (!(await peer.isInstalled())) skipped.push(peer.name);
    else {
      const task = { queries, targets, background: background!, folder: await scratch(folder, peer.name) };
      rankings[peer.name] = await peer.search(task);
    }
  }
  return { rankings, skipped };
}

const PROFILE_PEERS: readonly ProfilePeer[] = [
  {
    name: `jackhmmer, ${ROUNDS} rounds`,
    isInstalled: () => canRun('jackhmmer'),
    async search({ queries, targets, background, folder }) {
      const { query, database } = await writeWorld({ queries, targets, background, folder });
      const table = join(folder, 'jackhmmer.tbl');
      const flags = ['-N', ROUNDS, '--cpu', String(cpus().length), '--noali', '-E', `${LARGEST_E}`];
      await run('jackhmmer', [...flags, '-o', '/dev/null', '--tblout', table, query, database], {
        maxBuffer: MAX_OUTPUT_BYTES,
      });
      const rows = rowsOf(await readFile(table, 'utf8'));
      return hitsAmong(
        rows.map(([target, , queryId, , eValue]) => [queryId, target, Number(eValue)]),
        targets,
      );
    },
  },
  {
    name: `mmseqs, ${ROUNDS} rounds`,
    isInstalled: () => canRun('mmseqs', 'version'),
    async search({ queries, targets, background, folder }) {
      const { query, database } = await writeWorld({ queries, targets, background, folder });
      const table = join(folder, 'mmseqs.m8');
      const flags = [
        '--num-iterations',
        ROUNDS,
        '-s',
        '7.5',
        '-e',
        `${LARGEST_E}`,
        '--max-seqs',
        '2000',
        '-v',
        '0',
      ];
      const columns = ['--format-output', 'query,target,evalue'];
      const files = [query, database, table, join(folder, 'tmp')];
      await run('mmseqs', ['easy-search', ...files, ...flags, ...columns]);
      const rows = rowsOf(await readFile(table, 'utf8'));
      return hitsAmong(
        rows.map(([queryId, target, eValue]) => [queryId, target, Number(eValue)]),
        targets,
      );
    },
  },
  {
    name: 'HHsearch',
    isInstalled: hasProfileTools,
    async search({ queries, targets, background, folder }) {
      const profiles = join(folder, 'profiles');
      const alignments = await alignHomologs(targets, background, join(folder, 'alignments'));
      await writeProfiles(targets, alignments, profiles);
      const database = await writeDatabase(targets, profiles, join(folder, 'hh'));
      const hits: Hit[] = [];
      for (const { id } of queries) {
        for (const { target, bits } of await searchProfiles(id, profiles, database, join(folder, 'scores'))) {
          // E = P · number of targets.
          const score = bits * Math.LN2 - Math.log(targets.length);
          if (-score <= Math.log(LARGEST_E)) hits.push({ queryId: id, targetId: target, score });
        }
      }
      return hits;
    },
  },
];

/** Writes the queries, and the targets followed by the background. */
async function writeWorld({ queries, targets, background, folder }: Task): Promise<{
  readonly query: string;
  readonly database: string;
}> {
  const [query, database] = [join(folder, 'queries.fasta'), join(folder, 'world.fasta')];
  await writeFasta(query, queries);
  await copyFile(background, database);
  const records = targets.map(({ id, sequence }) => `>${id}\n${sequence}\n`);
  await appendFile(database, `\n${records.join('')}`);
  return { query, database };
}

/** Returns the best hit of each pair whose target is one of these. */
export function hitsAmong(
  rows: readonly (readonly [query: string, target: string, eValue: number])[],
  targets: readonly BenchProtein[],
): readonly Hit[] {
  const known = new Set(targets.map(({ id }) => id));
  const best = new Map<string, Hit>();
  for (const [queryId, targetId, eValue] of rows) {
    if (!known.has(targetId)) continue;
    const key = `${queryId}\t${targetId}`;
    const score = -ln(eValue);
    if (score > (best.get(key)?.score ?? -Infinity)) best.set(key, { queryId, targetId, score });
  }
  return [...best.values()];
}

/** ln E; tools print 0 below the smallest number. */
function ln(eValue: number): number {
  return Math.log(Math.max(eValue, Number.MIN_VALUE));
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.trim().split(/\s+/));
}

function canRun(program: string, option = '-h'): Promise<boolean> {
  return run(program, [option]).then(
    () => true,
    () => false,
  );
}

async function scratch(folder: string, name: string): Promise<string> {
  const path = join(folder, `peer-${name.replaceAll(/\W+/g, '-')}`);
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true });
  return path;
}
