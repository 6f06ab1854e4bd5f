import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrationDirectory } from '#src/significance/card.js';
import { lockFolder } from '#src/processes.js';
import { seededRandom } from '#src/random.js';
import { ROOT } from '../tools/paths.js';
import { makeRelease } from '../release/make-release.js';

/** Long enough beside other tests on the same machine. */
const TIMEOUT_MS = 300_000;

/* A calibrating process is killed in each of its phases. The next process continues and writes the same bytes. */

const SEED = 20261123;
const COUNT = 110;
/** Phases, and the share of each that is done when the process is killed. */
const KILLS = [
  ['pairs', 0.4],
  ['pairs', 0.8],
  ['controls', 0.5],
  ['reversed', 0.3],
  ['decoys', 0.7],
  ['moments', 1],
  ['panel', 0.6],
] as const;
/** Searches in one step of the hubness phase. A step of another phase is one call. */
const LARGEST_STEP = 8;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-killed-'));
let directory: string;
let whole: Calibrated;

type Calls = Readonly<Record<'encode' | 'measure' | 'maxsim', number>>;

interface Calibrated {
  /** Files of the calibration by name. */
  readonly files: Readonly<Record<string, Buffer>>;
  readonly calls: Calls;
}

beforeAll(async () => {
  const random = seededRandom(SEED);
  const targets = Array.from({ length: COUNT }, (_, index) => ({
    id: `p${index}`,
    sequence: Array.from({ length: 60 + random.below(60) }, () => 'ACDEFGHIKL'[random.below(10)]).join(''),
  }));
  directory = await makeRelease(folder, { targets, dimension: 32, token: () => random.below(79) - 39 });
  whole = calibrate();
}, TIMEOUT_MS);
afterAll(() => rmSync(folder, { recursive: true }));

describe(`a calibration that is killed (seed ${SEED})`, { timeout: TIMEOUT_MS }, () => {
  it('in each of its phases repeats only the unfinished steps, and writes the same bytes', () => {
    const parts = KILLS.map(([phase, share]) => kill(phase, share));
    const last = calibrate();
    expect(last.files).toEqual(whole.files);
    expect(existsSync(workFolder())).toBe(false);
    for (const name of ['encode', 'measure', 'maxsim'] as const) {
      const done = [...parts, last.calls].reduce((sum, calls) => sum + calls[name], 0);
      expect(done, name).toBeGreaterThanOrEqual(whole.calls[name]);
      expect(done, name).toBeLessThanOrEqual(whole.calls[name] + KILLS.length - 1 + LARGEST_STEP);
    }
    // Only the last steps of the hubness phase were unfinished.
    expect(last.calls.encode).toBe(0);
  });

  it('repeats steps that were damaged meanwhile, and those after them', () => {
    kill('panel', 0.9);
    for (const name of readdirSync(workFolder())) {
      const path = join(workFolder(), name);
      const bytes = readFileSync(path);
      bytes[Math.floor(bytes.length / 2)] ^= 1;
      writeFileSync(path, bytes);
    }
    const repaired = calibrate();
    expect(repaired.files).toEqual(whole.files);
    expect(repaired.calls.maxsim).toBeGreaterThan(whole.calls.maxsim / 3);
  });

  it('excludes a second one, which is refused and changes nothing', async () => {
    kill('panel', 0.9);
    const before = readdirSync(workFolder());
    const unlock = await lockFolder(workFolder(), 'This release is being calibrated');
    const script = join(ROOT, 'test', 'fit-significance', 'killed.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, directory, '1'], { encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      `This release is being calibrated by process ${process.pid}; wait until it is done.`,
    );
    expect(readdirSync(workFolder())).toEqual(before);
    await unlock();
    expect(calibrate().files).toEqual(whole.files);
  });

  it('leaves checkpoints that a calibration with another seed does not use', () => {
    const other = calibrate(2);
    kill('panel', 0.9);
    expect(calibrate(2).files).toEqual(other.files);
    expect(other.files).not.toEqual(whole.files);
  });
});

function workFolder(): string {
  return `${calibrationDirectory(directory)}.work`;
}

/** Runs a process that is killed. Returns its calls up to then. */
function kill(phase: string, share: number): Calls {
  const { signal, calls } = run(1, phase, `${share}`);
  expect(signal).toBe('SIGKILL');
  return calls;
}

function calibrate(seed = 1): Calibrated {
  const { signal, calls } = run(seed);
  expect(signal).toBeNull();
  const place = calibrationDirectory(directory);
  const files = readdirSync(place).map((name) => [name, readFileSync(join(place, name))] as const);
  return { files: Object.fromEntries(files), calls };
}

function run(seed: number, ...until: readonly string[]): { signal: string | null; calls: Calls } {
  const script = join(ROOT, 'test', 'fit-significance', 'killed.mjs');
  const words = [script, directory, `${seed}`, ...until];
  const { signal, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return { signal, calls: JSON.parse(stdout) as Calls };
}
