import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { listJobs } from '#src/services/jobs.js';
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
  name: string,
  command: readonly string[],
  isTime: (databaseFolder: string) => boolean,
  delayMaxMs: number,
): Promise<boolean> {
  const child: ChildProcess = spawn(process.execPath, [main, ...command], {
    env: environmentOf(name),
    stdio: 'ignore',
  });
  const ended = new Promise<boolean>((resolve) =>
    child.once('exit', (_code, signal) => resolve(signal === 'SIGKILL')),
  );
  const databaseFolder = join(folder, name, 'indexes', 'db');
  const timer = setInterval(() => {
    if (!isTime(databaseFolder)) return;
    clearInterval(timer);
    setTimeout(() => child.kill('SIGKILL'), below(delayMaxMs));
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
 * Kills a build that has put its release in place and has not published it. The build waits for the control store. The
 * test holds the store from before the proteins are read until the release has its name.
 */
async function killUnpublished(name: string, fasta: string, flags: readonly string[]): Promise<void> {
  const databaseFolder = join(folder, name, 'indexes', 'db');
  const before = new Set(readdirSync(databaseFolder));
  const isInPlace = (): boolean =>
    readdirSync(databaseFolder).some((entry) => entry.startsWith('dbr_') && !before.has(entry));
  const dataFolder = join(folder, name, 'data');
  const store = openControlStore(dataFolder);
  // No stream of this process moves while it holds the store; a pipe in the file system does.
  const pipe = join(folder, `${name}.pipe`);
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  const input = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const output = openSync(pipe, constants.O_WRONLY);
  const temporary = mkdtempSync(join(folder, 'temporary-'));
  const child = spawn(process.execPath, [main, 'index', 'build', '-', ...flags], {
    env: { ...environmentOf(name), TMPDIR: temporary },
    stdio: [input, 'ignore', 'ignore'],
  });
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  try {
    // Where it waits for its input, it has opened the store, for which it needs the lock, too.
    await expect.poll(() => readdirSync(temporary).join(), { timeout: 120_000 }).toContain('gloaming-input-');
    await store.transaction(() => {
      writeSync(output, fasta);
      closeSync(output);
      const still = new Int32Array(new SharedArrayBuffer(4));
      // Bounded, because no time-out of the test comes through.
      for (let waits = 0; !isInPlace() && waits < 60_000; waits += 1) Atomics.wait(still, 0, 0, 2);
      expect(isInPlace()).toBe(true);
      expect(listJobs(dataFolder)).toMatchObject([
        { pid: child.pid, command: 'index build', database: 'db' },
      ]);
      child.kill('SIGKILL');
    });
    expect(await ended).toBe('SIGKILL');
    expect(listJobs(dataFolder)).toEqual([]);
  } finally {
    child.kill('SIGKILL');
    closeSync(input);
    rmSync(pipe);
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
    'at any moment resumes with the same command and ends with the same bytes',
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
      let name = '';
      let killed: string[] = [];
      // If a build finishes before its kill, the attempt is repeated in another folder with half the delay.
      for (let delayMaxMs = 60; killed.length < 4 && delayMaxMs >= 1; delayMaxMs >>= 1) {
        name = `killed-${delayMaxMs}`;
        killed = [];
        for (const [moment, isTime] of moments) {
          if (!(await buildAndKill(name, command, isTime, delayMaxMs))) break;
          killed.push(moment);
        }
        console.log(`killed when ${killed.join(', ')}`);
      }
      expect(killed.length).toBeGreaterThanOrEqual(4);

      gloaming(name, ...command);
      const whole = contents(join(folder, 'whole', 'indexes', 'db'));
      const resumed = contents(join(folder, name, 'indexes', 'db'));
      expect(Object.keys(resumed)).toEqual(Object.keys(whole));
      for (const [path, bytes] of Object.entries(whole)) expect(resumed[path].equals(bytes), path).toBe(true);
      expect(gloaming(name, 'index', 'verify', 'db')).toContain('intact (5 files');
      expect(gloaming(name, 'index', 'list')).toMatch(/^db +dbr_[0-9a-f]{12} +1,500 .* no *$/m);
    },
  );

  it(
    'before publication leaves a release that becomes the default only if the build was to make it so',
    { timeout: 600_000 },
    async () => {
      const listed = (): { default_release_id: string; releases: { id: string }[] } =>
        JSON.parse(gloaming('placed', 'index', 'list', '--json')).databases[0];
      const flags = ['--name', 'db', '--encoder', 'baseline-1', '--no-calibration'];
      const fasta = join(folder, 'three.fasta');
      writeFileSync(fasta, randomFasta(3));
      gloaming('placed', 'index', 'build', fasta, ...flags);
      const first = listed().default_release_id;

      await killUnpublished('placed', randomFasta(4), [...flags, '--no-default']);
      const beside = listed();
      expect(beside.releases).toHaveLength(2);
      expect(beside.default_release_id).toBe(first);

      await killUnpublished('placed', randomFasta(5), flags);
      const next = listed();
      expect(next.releases).toHaveLength(3);
      expect(beside.releases.map(({ id }) => id)).not.toContain(next.default_release_id);
      const left = readdirSync(join(folder, 'placed', 'indexes', 'db'));
      expect(left.filter((name) => name.startsWith('.beside-default-'))).toEqual([]);
    },
  );
});
