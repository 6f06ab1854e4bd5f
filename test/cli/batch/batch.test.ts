import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import { partsOf } from '#src/pipelines/batch/batch.js';
import { readPartialResults } from '#src/pipelines/batch/partial-results.js';
import { tasksOf } from '#src/pipelines/cluster/units.js';
import { seededRandom } from '#src/random.js';
import { decodePartialResults, writtenBytes, encodePartialResults } from '#src/search/partitions/encoding.js';
import { ROOT } from '../../tools/paths.js';
import { cancelTask, holdTasks, startSlurm, whyNoSlurm } from '../../tools/slurm.js';

const main = join(ROOT, 'dist', 'src', 'cli', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'gloaming-batch-'));
afterAll(() => rmSync(folder, { recursive: true }));

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`batch seed ${seed}`);
const { below } = seededRandom(seed);
const randomFasta = (name: string, count: number, longest: number): string =>
  Array.from({ length: count }, (_, at) => {
    const length = 20 + below(longest - 20);
    const sequence = Array.from({ length }, () => 'ACDEFGHIKLMNPQRSTVWY'[below(20)]).join('');
    return `>${name}${at}\n${sequence}\n`;
  }).join('');
const path = (name: string): string => join(folder, name);
writeFileSync(path('targets.fasta'), randomFasta('T', 200, 200));
// More queries than a chunk holds.
writeFileSync(path('queries.fasta'), randomFasta('Q', 300, 60));
const environment = {
  ...process.env,
  GLOAMING_INDEXES: path('indexes'),
  GLOAMING_DATA: path('data'),
};

function gloaming(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], {
    env: environment,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
}

const SETTINGS = ['-d', 'db', '--limit', '7', '--evidence', 'candidate_measurement'];
const batch = (output: string, ...more: string[]): string[] => [
  ...['batch', 'search', path('queries.fasta'), ...SETTINGS, '--output', path(output)],
  ...more,
];

let digest: string;
let bytes: Buffer;

beforeAll(() => {
  const options = ['--name', 'db', '--encoder', 'baseline-1', '--no-calibration'];
  expect(gloaming('index', 'build', path('targets.fasta'), ...options).status).toBe(0);
  const { stdout, status } = gloaming(...batch('here.parquet'));
  expect(status).toBe(0);
  [, digest] = /result_sha256 {2}([0-9a-f]{64})/.exec(stdout)!;
  bytes = readFileSync(path('here.parquet'));
}, 240_000);

describe('a batch without a server', () => {
  it('gives each query the result of a search, and leaves only its output file', { timeout: 240_000 }, () => {
    const { stdout } = gloaming('search', path('queries.fasta'), ...SETTINGS, '--format', 'json');
    const results = stdout.trim().split('\n');
    expect(results).toHaveLength(300);
    const digests = results.map((line) => (JSON.parse(line) as { result_sha256: string }).result_sha256);
    expect(digests.reduce((chain, each) => sha256Hex(chain + each), sha256Hex(''))).toBe(digest);
    expect(readdirSync(folder).sort()).toEqual(
      ['data', 'here.parquet', 'indexes', 'queries.fasta', 'targets.fasta'].sort(),
    );
  });

  it(
    'may be done by tasks, some of them lost and some doubled, over parts of the database',
    { timeout: 600_000 },
    () => {
      const command = batch('tasks.parquet', '--parts', '3', '--tasks', '4');
      const [, tasks, script] = /sbatch --array=(\S+) (\S+)/.exec(gloaming(...command).stdout)!;
      expect(tasks).toBe('0-3');
      const run = (task: number) =>
        spawnSync('bash', [script], {
          env: { ...environment, SLURM_ARRAY_TASK_ID: String(task) },
          encoding: 'utf8',
        });
      expect([run(0), run(2), run(2), run(3), run(4)].map(({ status }) => status)).toEqual([0, 0, 0, 0, 2]);
      // Of 2 chunks with 3 parts each, task 1 has the units 1 and 5.
      expect(gloaming(...command).stdout).toContain(`sbatch --array=1 ${script}`);
      expect(gloaming(...batch('tasks.parquet', '--parts', '2')).stderr).toContain(
        'belongs to another batch',
      );
      expect(run(1).stdout).toBe('Task 1: 2 units done.\n');
      expect(gloaming(...command).stdout).toContain(digest);
      expect(readFileSync(path('tasks.parquet')).equals(bytes)).toBe(true);
      expect(existsSync(path('tasks.parquet.work'))).toBe(false);
      const late = gloaming('batch', 'task', path('tasks.parquet.work'), '4', '1');
      expect(late.stderr).toContain('There is no batch in');
    },
  );

  it('reports for each task how many units are done', () => {
    // Of seven units, task 0 has 0, 3 and 6, task 1 has 1 and 4, task 2 has 2 and 5.
    expect(tasksOf(7, 3, [3, 5, 6])).toEqual([
      { done: 1, total: 3 },
      { done: 2, total: 2 },
      { done: 1, total: 2 },
    ]);
    expect(tasksOf(1, 2, [])).toEqual([
      { done: 1, total: 1 },
      { done: 0, total: 0 },
    ]);
  });

  it('has as few parts as let the tokens of each fit into memory', () => {
    const gib = 1024 ** 3;
    expect(partsOf({}, 10 * gib)).toBe(1);
    expect(partsOf({ parts: 7 }, 10 * gib)).toBe(7);
    expect([10, 5, 4, 0.01].map((memory) => partsOf({ memory }, 10 * gib))).toEqual([1, 2, 3, 1_000]);
    for (const flags of [{ memory: 0.009 }, { memory: 0 }, { memory: Number.NaN }, { parts: 2, memory: 5 }]) {
      expect(() => partsOf(flags, 10 * gib)).toThrow('1 to 1000 parts');
    }
  });

  it('reads partial results as they were written, and names a damaged file', async () => {
    const partialResult = {
      targets: Uint32Array.of(1, 4_000_000_000),
      queryToTarget: Int32Array.of(-7, 2 ** 31 - 1),
      targetToQuery: Int32Array.of(0, -(2 ** 31)),
      queryTokensSha256: 'ab'.repeat(32),
    };
    const partialResults = [partialResult, { ...partialResult, queryExcess: Int32Array.of(1, 2) }];
    const written = encodePartialResults(partialResults);
    expect(written).toHaveLength(writtenBytes([2], 3) + writtenBytes([2], 4) - writtenBytes([], 3));
    writeFileSync(path('surveys.bin'), written);
    expect(await readPartialResults(path('surveys.bin'))).toEqual(partialResults);
    writeFileSync(path('surveys.bin'), written.subarray(1));
    await expect(readPartialResults(path('surveys.bin'))).rejects.toThrow(
      `${path('surveys.bin')} is damaged`,
    );
    for (let length = 0; length < written.length; length += 1) {
      expect(() => decodePartialResults(written.subarray(0, length))).toThrow(/too early/);
    }
    expect(() => decodePartialResults(Buffer.concat([written, Buffer.alloc(1)]))).toThrow(/more bytes after/);
  });
});

describe.skipIf(whyNoSlurm !== undefined)(`real Slurm daemons (${whyNoSlurm ?? 'they run here'})`, () => {
  it('give the bytes of one machine after tasks were killed', { timeout: 400_000 }, async () => {
    const slurm = await startSlurm(path('slurm'), 3);
    try {
      const held = holdTasks(path('slurm'));
      const command = batch('slurm.parquet', '--parts', '3', '--slurm', 'partition=main,array=6');
      const child = spawn(process.execPath, [main, ...command], {
        env: { ...environment, ...slurm.environment, ...held.environment },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      }
      const ended = new Promise((resolve) => child.once('exit', resolve));
      let killed = '';
      while (killed === '' && child.exitCode === null) {
        const running = slurm.command('squeue', '--noheader', '--states=R', '--format=%i').split('\n');
        [killed] = running;
        await setTimeout(50);
      }
      await cancelTask(slurm, killed);
      held.release();
      expect(await ended, output).toBe(0);
      expect(output).toMatch(/Job \d+: 6 tasks\./);
      expect(output).toMatch(/Job \d+: 1 tasks\./);
      expect(output).toContain(digest);
      expect(readFileSync(path('slurm.parquet')).equals(bytes)).toBe(true);
    } finally {
      await slurm.stop();
      rmSync(path('slurm'), { recursive: true });
    }
  });
});
