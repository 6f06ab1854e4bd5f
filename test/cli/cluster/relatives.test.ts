import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { PROGRAM } from '../../tools/paths.js';
import { startSlurm, whyNoSlurm } from '../../tools/slurm.js';

/* A database whose proteins are each other's relatives, built and searched by tasks and by one machine. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-cluster-relatives-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (...names: string[]): string => join(folder, ...names);

/** Its calibration of few simulated proteins judges this one more surely than most. */
const QUERY = 33;
const random = seededRandom(3);
const simulated = simulateProteins(7, 300).proteins.map(({ sequence }) => sequence);
/** Returns the protein with a fifth of its residues replaced at random. */
const mutated = (protein: string): string =>
  [...protein].map((letter) => (random.below(5) < 1 ? AMINO_ACIDS[random.below(20)] : letter)).join('');
const proteins = [...simulated, ...Array.from({ length: 8 }, () => mutated(simulated[QUERY]))];
writeFileSync(path('proteins.fasta'), proteins.map((each, at) => `>p${at}\n${each}\n`).join(''));
const queries = [QUERY, 40, 303].map((at) => `>q${at}\n${proteins[at]}\n`);
writeFileSync(path('queries.fasta'), queries.join(''));

const PLAIN = ['index', 'build', path('proteins.fasta'), '--name', 'db', '--encoder', 'baseline-1'];
const BUILD = [...PLAIN, '--relatives', 'self', '--no-calibration'];

function gloaming(name: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [PROGRAM, ...args], {
    env: {
      ...process.env,
      GLOAMING_INDEXES: path(name, 'indexes'),
      GLOAMING_DATA: path(name, 'data'),
      ...more,
    },
    encoding: 'utf8',
  });
}

/** Runs the tasks of a script for sbatch one by one, the first of them twice, and returns their output. */
function runTasks(stdout: string): readonly string[] {
  const [, array, script] = /sbatch --array=0-(\d+) (\S+)/.exec(stdout)!;
  const run = (task: number) =>
    spawnSync('bash', [script], {
      env: { ...process.env, SLURM_ARRAY_TASK_ID: String(task) },
      encoding: 'utf8',
    });
  const doubled = [0, ...Array.from({ length: Number(array) + 1 }, (_, task) => task)];
  return doubled.map(run).map(({ stdout, stderr }) => stdout + stderr);
}

/** Bytes of every file of the database's folder, by path. */
function contents(name: string): Record<string, string> {
  const database = path(name, 'indexes', 'db');
  const files = readdirSync(database, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => [file.slice(database.length), readFileSync(file).toString('base64')]),
  );
}

beforeAll(() => {
  expect(gloaming('whole', [...PLAIN, '--no-qualification']).status).toBe(0);
  const { stdout } = gloaming('whole', BUILD);
  expect(stdout).toMatch(/[1-9]\d* homologs of [1-9]\d* of [1-9]\d* proteins, by our own search of dbr_/);
}, 600_000);

describe('a database with relatives', () => {
  it(
    'is built by tasks, first without and then with them, to the byte of one machine',
    { timeout: 600_000 },
    () => {
      const alone = [...PLAIN, '--relatives', 'none', '--no-calibration', '--shards', '2'];
      const plain = gloaming('tasks', alone);
      expect(plain.stdout).not.toContain('Built db.');
      expect(runTasks(plain.stdout)).toHaveLength(3);
      expect(gloaming('tasks', alone).stdout).toContain('Built db.');
      // The calibration of the release without relatives follows from it, and takes long.
      const database = path('whole', 'indexes', 'db');
      const [calibration] = readdirSync(database).filter((each) => each.endsWith('.calibration'));
      cpSync(join(database, calibration), path('tasks', 'indexes', 'db', calibration), { recursive: true });
      const build = [...BUILD, '--shards', '2'];
      const related = gloaming('tasks', build);
      expect(related.stdout).toContain('2 of 2 shards of db are to be encoded');
      const [first, again] = runTasks(related.stdout);
      expect(first).toMatch(/^Shard 0: [1-9][\d,]+ residues encoded\.\n$/);
      expect(again).toBe('Shard 0: 0 residues encoded.\n');
      expect(gloaming('tasks', build).stdout).toContain('Built db.');
      expect(contents('tasks')).toEqual(contents('whole'));
    },
  );

  it(
    'is searched by tasks over parts of it as a search does, with relatives and without',
    { timeout: 600_000 },
    () => {
      const digests = ['as_release', 'none'].map((homologs) => {
        const settings = ['-d', 'db', '--limit', '20', '--relatives', homologs];
        const one = ['search', path('queries.fasta'), ...settings, '--format', 'json', '--alignments'];
        const lines = gloaming('whole', one).stdout.trim().split('\n');
        const results = lines.map((line) => JSON.parse(line) as Record<string, any>);
        expect(results[0].query.relative_count > 0).toBe(homologs === 'as_release');
        const chain = results.reduce((sum, { result_sha256: each }) => sha256Hex(sum + each), sha256Hex(''));
        const batch = (output: string, ...more: string[]) =>
          gloaming('whole', [
            'batch',
            'search',
            path('queries.fasta'),
            ...settings,
            '-o',
            path(output),
            ...more,
          ]);
        expect(batch('here.parquet').stdout).toContain(chain);
        const divided = ['tasks.parquet', '--parts', '3', '--tasks', '2'] as const;
        runTasks(batch(...divided).stdout);
        expect(batch(...divided).stdout).toContain(chain);
        expect(readFileSync(path('tasks.parquet')).equals(readFileSync(path('here.parquet')))).toBe(true);
        return chain;
      });
      expect(digests[0]).not.toBe(digests[1]);
    },
  );
});

describe.skipIf(whyNoSlurm !== undefined)(`real Slurm daemons (${whyNoSlurm ?? 'they run here'})`, () => {
  it('build one with given alignments to the byte of one machine', { timeout: 600_000 }, async () => {
    mkdirSync(path('alignments'));
    const family = [QUERY, ...Array.from({ length: 8 }, (_, at) => simulated.length + at)];
    for (const own of family) {
      // Members differ in letters only: as they stand, they are aligned.
      const rows = [own, ...family.filter((at) => at !== own)].map((at) => `>p${at}\n${proteins[at]}\n`);
      writeFileSync(path('alignments', `p${own}.a3m`), rows.join(''));
    }
    const build = [...PLAIN, '--alignments', path('alignments'), '--no-calibration'];
    expect(gloaming('given', build).stdout).toMatch(
      /[1-9]\d* homologs of 9 of [1-9]\d* proteins, by the given alignments/,
    );
    const slurm = await startSlurm(path('daemons'), 2);
    try {
      const there = [...build, '--slurm', 'partition=main,array=3'];
      const { status, stderr } = gloaming('slurm', there, slurm.environment);
      expect(status, stderr).toBe(0);
      expect(stderr).toMatch(/Job \d+: 3 tasks\./);
      expect(contents('slurm')).toEqual(contents('given'));
    } finally {
      await slurm.stop();
    }
  });
});
