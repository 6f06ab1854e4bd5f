import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { readShardFlags } from '#src/cli/cluster/options.js';
import { arrayOf, batchScript, taskName } from '#src/pipelines/cluster/slurm.js';
import { seededRandom } from '#src/random.js';
import { ROOT } from '../../tools/paths.js';
import { cancelTask, holdTasks, startSlurm, whyNoSlurm } from '../../tools/slurm.js';

const main = join(ROOT, 'dist', 'src', 'cli', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'gloaming-cluster-'));
afterAll(() => rmSync(folder, { recursive: true }));

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`cluster seed ${seed}`);
const { below } = seededRandom(seed);
const fasta = join(folder, 'proteins.fasta');
const sequences = Array.from({ length: 600 }, () =>
  Array.from({ length: 100 + below(400) }, () => 'ACDEFGHIKLMNPQRSTVWY'[below(20)]).join(''),
);
writeFileSync(fasta, sequences.map((sequence, at) => `>Q${at} Protein ${at}\n${sequence}\n`).join(''));
const BUILD = ['index', 'build', fasta, '--name', 'db', '--encoder', 'baseline-1', '--no-calibration'];

function environmentOf(name: string): Record<string, string> {
  return { GLOAMING_INDEXES: join(folder, name, 'indexes'), GLOAMING_DATA: join(folder, name, 'data') };
}

function gloaming(name: string, ...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], {
    env: { ...process.env, ...environmentOf(name) },
    encoding: 'utf8',
  });
}

/** Bytes of every file of the database's folder, by path. */
function contents(name: string): Record<string, string> {
  const database = join(folder, name, 'indexes', 'db');
  const files = readdirSync(database, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(database.length), readFileSync(path).toString('base64')]),
  );
}

let built = false;
/** Builds the release on one machine, as the reference. */
function whole(): Record<string, string> {
  if (!built) expect(gloaming('whole', ...BUILD).status).toBe(0);
  built = true;
  return contents('whole');
}

describe('a build that is divided', () => {
  it(
    'writes a script whose tasks encode, and the same command gathers their shards',
    { timeout: 240_000 },
    () => {
      const first = gloaming('script', ...BUILD, '--shards', '3');
      expect(first.stdout).toContain('3 of 3 shards of db are to be encoded');
      const [, tasks, script] = /sbatch --array=(\S+) (\S+)/.exec(first.stdout)!;
      expect(tasks).toBe('0-2');
      // The script is bash with Slurm directives as comments. The test runs it as a task of the array.
      const run = (task: string) =>
        spawnSync('bash', [script], { env: { ...process.env, SLURM_ARRAY_TASK_ID: task }, encoding: 'utf8' });
      expect(run('1').stdout).toMatch(/^Shard 1: [\d,]+ residues encoded/);
      expect(run('1').stdout).toBe('Shard 1: 0 residues encoded.\n');
      expect(gloaming('script', ...BUILD, '--shards', '3').stdout).toContain('sbatch --array=0,2 ');
      expect([run('0').status, run('2').status, run('3').status]).toEqual([0, 0, 2]);
      expect(gloaming('script', ...BUILD, '--shards', '3').stdout).toContain('Built db.');
      expect(contents('script')).toEqual(whole());
    },
  );

  it('refuses contradicting counts and options that sbatch must not get', () => {
    expect(readShardFlags({})).toBeUndefined();
    expect(readShardFlags({ shards: 2 })).toEqual({ count: 2, slurmArray: undefined });
    expect(readShardFlags({ slurm: 'partition=main,array=64%8,exclusive' })).toEqual({
      count: 64,
      slurmArray: { options: ['--partition=main', '--exclusive'], taskCount: 64, atOnce: 8 },
    });
    const unclear = 'Name the number of shards once';
    expect(() => readShardFlags({ slurm: 'partition=main' })).toThrow(unclear);
    expect(() => readShardFlags({ shards: 2, slurm: 'array=3' })).toThrow(unclear);
    for (const options of ['wrap=rm', 'partition=a b', '-p main', 'array=2-3', 'output=x', '']) {
      expect(() => readShardFlags({ slurm: `${options},array=2` })).toThrow('--slurm expects');
    }
  });

  it('writes the missing tasks as ranges for sbatch, each task once', () => {
    expect(arrayOf([0, 1, 2, 5, 7, 8], undefined)).toBe('0-2,5,7-8');
    expect(arrayOf([3], 4)).toBe('3%4');
    expect(taskName({ SLURM_ARRAY_JOB_ID: '17', SLURM_ARRAY_TASK_ID: '3' })).toBe('17_3');
    expect(taskName({})).toMatch(/^on-[A-Za-z0-9_-]+$/);
    const job = { name: 'x', command: ["it's", 'b c'], environment: { KEY: '$HOME' }, logFolder: '/logs' };
    const script = batchScript(job);
    expect(script).toContain("export KEY='$HOME'\n");
    expect(script).toContain(`exec 'it'\\''s' 'b c' "$SLURM_ARRAY_TASK_ID"\n`);
    expect(() => batchScript({ ...job, logFolder: '/my logs' })).toThrow(
      'Slurm cannot write logs into /my logs',
    );
  });
});

describe.skipIf(whyNoSlurm !== undefined)(`real Slurm daemons (${whyNoSlurm ?? 'they run here'})`, () => {
  it(
    'give the bytes of one machine after tasks were cancelled and requeued',
    { timeout: 400_000 },
    async () => {
      const slurm = await startSlurm(join(folder, 'slurm'), 3);
      try {
        const held = holdTasks(join(folder, 'slurm'));
        const own = { ...environmentOf('cluster'), ...slurm.environment, ...held.environment };
        const environment = { ...process.env, ...own };
        const child = spawn(process.execPath, [main, ...BUILD, '--slurm', 'partition=main,array=7%4'], {
          env: environment,
        });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8').on('data', (text: string) => (output += text));
        }
        const ended = new Promise((resolve) => child.once('exit', resolve));
        const tasksThat = async (state: 'R' | 'PD', wanted: (task: string) => boolean): Promise<string> => {
          for (;;) {
            const queue = slurm.command(
              'squeue',
              '--noheader',
              '--array',
              `--states=${state}`,
              '--format=%i',
            );
            const matching = queue.split('\n').find((task) => task !== '' && wanted(task));
            if (matching !== undefined) return matching;
            if (child.exitCode !== null) throw new Error(`no task is ${state} any more`);
            await setTimeout(50);
          }
        };
        const killed = await tasksThat('R', () => true);
        await cancelTask(slurm, killed);
        const requeued = await tasksThat('R', (task) => task !== killed);
        slurm.command('scontrol', 'requeue', requeued);
        // Slurm would let it wait for two minutes.
        await tasksThat('PD', (task) => task === requeued);
        slurm.command('scontrol', 'update', `JobId=${requeued}`, 'StartTime=now');
        held.release();
        expect(await ended, output).toBe(0);
        expect(output).toMatch(/Job \d+: 7 tasks\./);
        // The cancelled tasks were submitted again.
        expect(output).toMatch(/Job \d+: 1 tasks\./);
        expect(output).toContain('Built db.');
        expect(contents('cluster')).toEqual(whole());
      } finally {
        await slurm.stop();
      }
    },
  );
});
