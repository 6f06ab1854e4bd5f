import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { listJobs } from '#src/services/jobs/jobs.js';
import { openControlStore } from '#src/store/control-store.js';
import { ROOT } from '../../tools/paths.js';

const root = ROOT;
const main = join(root, 'dist', 'src', 'cli', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'gloaming-kill-'));
afterAll(() => rmSync(folder, { recursive: true }));

const seed = Date.now() % 1_000_000;
const { below } = seededRandom(seed);

function randomFasta(proteins: number): string {
  const letters = 'ACDEFGHIKLMNPQRSTVWY';
  return Array.from({ length: proteins }, (_, at) => {
    const sequence = Array.from({ length: 100 + below(500) }, () => letters[below(20)]).join('');
    return `>tr|Q${at}|Q${at}_TEST Protein ${at} OS=Test species OX=562 PE=1\n${sequence}\n`;
  }).join('');
}

function environmentOf(name: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    GLOAMING_INDEXES: join(folder, name, 'indexes'),
    GLOAMING_DATA: join(folder, name, 'data'),
  };
}

function gloaming(name: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    env: environmentOf(name),
    encoding: 'utf8',
  });
  expect(stderr.includes('gloaming:') ? stderr : '').toBe('');
  expect(status).toBe(0);
  return stdout;
}

/**
 * Kills the build a random moment after the condition holds; false where the build ended by itself before.
 */
async function buildAndKill(
  command: readonly string[],
  isTime: (databaseFolder: string) => boolean,
): Promise<boolean> {
  const child: ChildProcess = spawn(process.execPath, [main, ...command], {
    env: environmentOf('killed'),
    stdio: 'ignore',
  });
  const ended = new Promise<boolean>((resolve) =>
    child.once('exit', (_code, signal) => resolve(signal === 'SIGKILL')),
  );
  const databaseFolder = join(folder, 'killed', 'indexes', 'db');
  const timer = setInterval(() => {
    if (!isTime(databaseFolder)) return;
    clearInterval(timer);
    setTimeout(() => child.kill('SIGKILL'), below(60));
  }, 2);
  const isKilled = await ended;
  clearInterval(timer);
  return isKilled;
}

/** True where a file of the unfinished build is there, of at least this size. */
function hasFile(databaseFolder: string, name: string, bytes = 0): boolean {
  if (!existsSync(databaseFolder)) return false;
  const work = readdirSync(databaseFolder).find((entry) => entry.startsWith('.building-'));
  const path = join(databaseFolder, work ?? 'none', name);
  return (statSync(path, { throwIfNoEntry: false })?.size ?? -1) >= bytes;
}

/**
 * Kills a build that has put its release in place and has not published it: it waits for the control store, which is
 * held here from its first file on until the release has its name.
 */
async function killUnpublished(name: string, command: readonly string[]): Promise<void> {
  const databaseFolder = join(folder, name, 'indexes', 'db');
  const before = new Set(readdirSync(databaseFolder));
  const hasNew = (prefix: string): boolean =>
    readdirSync(databaseFolder).some((entry) => entry.startsWith(prefix) && !before.has(entry));
  const dataFolder = join(folder, name, 'data');
  const store = openControlStore(dataFolder);
  const child = spawn(process.execPath, [main, ...command], { env: environmentOf(name), stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  try {
    while (!hasNew('.building-')) await sleep(2);
    await store.transaction(() => {
      const still = new Int32Array(new SharedArrayBuffer(4));
      while (!hasNew('dbr_')) Atomics.wait(still, 0, 0, 2);
      expect(listJobs(dataFolder)).toMatchObject([
        { pid: child.pid, command: 'index build', database: 'db' },
      ]);
      child.kill('SIGKILL');
    });
    expect(await ended).toBe('SIGKILL');
    expect(listJobs(dataFolder)).toEqual([]);
  } finally {
    await store.close();
  }
}

function contents(databaseFolder: string): Record<string, Buffer> {
  return Object.fromEntries(
    readdirSync(databaseFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(databaseFolder.length), readFileSync(path)]),
  );
}

describe('a build that is killed', () => {
  it(
    'goes on with the same command, whenever it was, and ends with the same bytes',
    { timeout: 600_000 },
    async () => {
      console.log(`seed ${seed}`);
      const fasta = join(folder, 'proteins.fasta');
      writeFileSync(fasta, randomFasta(1_500));
      const command = [
        'index',
        'build',
        fasta,
        '--name',
        'db',
        '--encoder',
        'baseline-1',
        '--title',
        'Killed',
        // Its release is what is compared; a calibration comes after it and has tests of its own.
        '--no-calibration',
      ];
      gloaming('whole', ...command);

      const moments: readonly [string, (databaseFolder: string) => boolean][] = [
        ['it has its lock', (at) => hasFile(at, 'lock')],
        ['it reads', (at) => hasFile(at, 'proteins.jsonl')],
        ['it has read', (at) => hasFile(at, 'read.json')],
        ['it writes tokens', (at) => hasFile(at, 'release/tokens.arrow', 2_000_000)],
        ['it has saved a checkpoint', (at) => hasFile(at, 'encoded.json')],
        ['it writes tables', (at) => hasFile(at, 'release/targets.arrow')],
        ['it has its manifest', (at) => hasFile(at, 'release/manifest.json')],
        [
          'the release is in place',
          (at) => existsSync(at) && readdirSync(at).some((name) => name.startsWith('dbr_')),
        ],
      ];
      const killed: string[] = [];
      for (const [moment, isTime] of moments) if (await buildAndKill(command, isTime)) killed.push(moment);
      console.log(`killed when ${killed.join(', ')}`);
      expect(killed.length).toBeGreaterThanOrEqual(4);

      gloaming('killed', ...command);
      const whole = contents(join(folder, 'whole', 'indexes', 'db'));
      const resumed = contents(join(folder, 'killed', 'indexes', 'db'));
      expect(Object.keys(resumed)).toEqual(Object.keys(whole));
      for (const [path, bytes] of Object.entries(whole)) expect(resumed[path].equals(bytes), path).toBe(true);
      expect(gloaming('killed', 'index', 'verify', 'db')).toContain('intact (5 files');
      expect(gloaming('killed', 'index', 'list')).toMatch(/^db +dbr_[0-9a-f]{12} +1,500 .*default release$/m);
    },
  );

  it(
    'before it is published leaves a release that takes the default only where it was to',
    { timeout: 600_000 },
    async () => {
      const listed = (): { default_release_id: string; releases: { id: string }[] } =>
        JSON.parse(gloaming('placed', 'index', 'list', '--json')).databases[0];
      const buildOf = (proteins: number): string[] => {
        const fasta = join(folder, `${proteins}.fasta`);
        writeFileSync(fasta, randomFasta(proteins));
        return ['index', 'build', fasta, '--name', 'db', '--encoder', 'baseline-1', '--no-calibration'];
      };
      gloaming('placed', ...buildOf(3));
      const first = listed().default_release_id;

      await killUnpublished('placed', [...buildOf(4), '--no-default']);
      const beside = listed();
      expect(beside.releases).toHaveLength(2);
      expect(beside.default_release_id).toBe(first);

      await killUnpublished('placed', buildOf(5));
      const next = listed();
      expect(next.releases).toHaveLength(3);
      expect(beside.releases.map(({ id }) => id)).not.toContain(next.default_release_id);
      const left = readdirSync(join(folder, 'placed', 'indexes', 'db'));
      expect(left.filter((name) => name.startsWith('.beside-default-'))).toEqual([]);
    },
  );
});
