import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import type { Bench } from '../main.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';

/*
 * How much do 1, 2 and 4 tasks of a build or a batch search cost, relative to one machine that does all the work?
 *
 *   npm run bench -- tasks [targets] [queries] [FASTA]
 *
 * The unit is processor time of all processes, planning and joining included. The tasks share a machine, so wall time
 * would depend on its number of cores. A build has as many shards, and a search as many parts, as there are tasks. The
 * output must equal that of one machine byte for byte.
 */

const TASKS = [1, 2, 4];
const PROGRAM = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

export const run: Bench = async ([targetCount = '800', queryCount = '100', fasta]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const { source, list } = await readProteins(fasta ?? join(shared, 'data', 'uniprot-sample.fasta.gz'));
  const [targets, queries] = [Number(targetCount), Number(queryCount)];
  assert(list.length >= targets + queries, 'there are enough proteins');
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-tasks-'));
  const path = (name: string): string => join(folder, name);
  try {
    await writeFile(path('targets.fasta'), fastaOf(list.slice(0, targets)));
    await writeFile(path('queries.fasta'), fastaOf(list.slice(targets, targets + queries)));
    console.log(`${source}: ${queries} queries against ${targets}; processor seconds of all processes`);
    const build = await compare('build', async (tasks) => {
      const command = ['index', 'build', path('targets.fasta'), '--name', 'db', '--no-calibration'];
      const output = await divide(path(`build-${tasks ?? 0}`), command, '--shards', tasks);
      return /release\s+(dbr_\w+)/.exec(output)![1];
    });
    const search = await compare('batch search', async (tasks) => {
      const output = path(`found-${tasks ?? 0}.parquet`);
      const command = ['batch', 'search', path('queries.fasta'), '-d', 'db', '-o', output];
      const parts = tasks === undefined ? [] : ['--parts', String(tasks)];
      await divide(path('build-0'), [...command, ...parts], '--tasks', tasks);
      return createHash('sha256')
        .update(await readFile(output))
        .digest('hex');
    });
    return { source, targets, queries, build, batch_search: search };
  } finally {
    await rm(folder, { recursive: true });
  }
};

interface Costs {
  readonly one_machine_seconds: number;
  /** Keyed by the number of tasks. */
  readonly tasks_seconds: Readonly<Record<string, number>>;
  readonly efficiency: Readonly<Record<string, number>>;
}

/**
 * Times the work as one machine and as tasks, and compares their outputs.
 * @param work runs with this number of tasks, or undivided, and returns an id or digest of its output
 */
async function compare(name: string, work: (tasks?: number) => Promise<string>): Promise<Costs> {
  const timed = async (tasks?: number): Promise<readonly [string, number]> => {
    const before = await childSeconds();
    const release = await work(tasks);
    return [release, (await childSeconds()) - before];
  };
  const [whole, one] = await timed();
  console.log(`  ${name.padEnd(14)} one machine  ${one.toFixed(1).padStart(8)}`);
  const seconds: Record<string, number> = {};
  const efficiency: Record<string, number> = {};
  for (const tasks of TASKS) {
    const [release, took] = await timed(tasks);
    assert(release === whole, `${tasks} tasks give the output of one machine`);
    [seconds[tasks], efficiency[tasks]] = [took, one / took];
    const share = `${((100 * one) / took).toFixed(0)} %`;
    console.log(`  ${name.padEnd(14)} ${tasks} tasks      ${took.toFixed(1).padStart(8)}  ${share}`);
  }
  return { one_machine_seconds: one, tasks_seconds: seconds, efficiency };
}

/**
 * Runs a command. If it is divided, the first call writes a script, the script runs each task, and the second call
 * joins the outputs.
 */
async function divide(
  folder: string,
  command: readonly string[],
  option: string,
  tasks: number | undefined,
): Promise<string> {
  const environment = { GLOAMING_INDEXES: join(folder, 'indexes'), GLOAMING_DATA: join(folder, 'data') };
  const gloaming = (...more: readonly string[]): Promise<string> =>
    call(process.execPath, [PROGRAM, ...command, ...more], environment);
  if (tasks === undefined) return gloaming();
  const [, script] = /sbatch --array=\S+ (\S+)/.exec(await gloaming(option, String(tasks)))!;
  for (let task = 0; task < tasks; task += 1) {
    await call('bash', [script], { ...environment, SLURM_ARRAY_TASK_ID: String(task) });
  }
  return gloaming(option, String(tasks));
}

function call(
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<string> {
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${status}.`));
    });
  });
}

/** Processor seconds of all ended child processes and their children. Source  proc(5): cutime and cstime of stat */
async function childSeconds(): Promise<number> {
  const stat = await readFile('/proc/self/stat', 'utf8');
  // The process name before the state may contain blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [fields[13], fields[14]].map(Number);
  return (user + system) / TICKS_PER_SECOND;
}

/** Linux uses this number for every program. */
const TICKS_PER_SECOND = 100;

function fastaOf(proteins: readonly BenchProtein[]): string {
  return proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join('');
}
