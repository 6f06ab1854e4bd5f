import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { LocatedRelease } from '#src/pipelines/catalog.js';
import { lockMeasurements, measuring } from '#src/pipelines/measure.js';
import { openProgram } from '#src/cli/program/program.js';
import { calibrationDirectory } from '#src/significance/card.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-removal-'));
afterAll(() => rmSync(folder, { recursive: true }));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_THREADS: '1',
};
const fasta = join(folder, 'alpha.fasta');
writeFileSync(fasta, '>a one\nMKVLAWYDE\n>b two\nMUVLA\n');
const databaseFolder = join(environment.GLOAMING_INDEXES, 'alpha');

/** Runs one index command in this process. Returns its standard output. */
async function index(...args: string[]): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const words = ['index', ...args];
  const program = await openProgram(words, { environment, stdin, stdout, stderr });
  await program.parseAsync(words, { from: 'user' });
  return String(stdout.read() ?? '');
}

const build = () => index('build', fasta, '--name', 'alpha', '--encoder', 'baseline-1', '--no-calibration');
const remove = () => index('remove', 'alpha', '--yes');

/** The only release of the database. */
function located(): LocatedRelease {
  const id = readdirSync(databaseFolder).find((name) => /^dbr_[0-9a-f]{64}$/.test(name))!;
  return { slug: 'alpha', id, directory: join(databaseFolder, id) };
}

let release: LocatedRelease;
beforeEach(async () => {
  await build();
  release = located();
});

describe('gloaming index remove', () => {
  it.each([
    ['calibration', 'is being calibrated'],
    ['policy', 'is being searched to measure its approximate policy'],
    ['neighbours', 'is being searched for the neighbours of its proteins'],
    ['walks', 'is being searched to measure propagated hits'],
  ] as const)('is refused while another command measures the %s of the release', async (kind, work) => {
    const message = `alpha ${release.id.slice(0, 16)} ${work} by process ${process.pid}; wait until it is done.`;
    await measuring(release, kind, async () => {
      await expect(remove()).rejects.toThrow(message);
    });
    expect(located()).toEqual(release);
    await remove();
    expect(readdirSync(databaseFolder)).toEqual([]);
  });

  it.each(['calibrate', 'qualify', 'propagation'])('excludes index %s', async (command) => {
    const unlock = await lockMeasurements(release);
    await expect(index(command, 'alpha')).rejects.toThrow(
      `by process ${process.pid}; wait until it is done.`,
    );
    await unlock();
    expect(readdirSync(databaseFolder)).toEqual([release.id]);
  });

  it('of files by hand ends a measurement in one sentence', async () => {
    const work = async (): Promise<never> => {
      rmSync(release.directory, { recursive: true });
      throw new Error('ENOENT');
    };
    const message = `alpha ${release.id.slice(0, 16)} was deleted meanwhile; nothing was measured.`;
    await expect(measuring(release, 'calibration', work)).rejects.toThrow(message);
    await expect(measuring(release, 'walks', () => Promise.resolve())).rejects.toThrow(message);
  });

  it('that was killed is completed by the next command, with what was measured', async () => {
    mkdirSync(calibrationDirectory(release.directory));
    mkdirSync(`${release.directory}.neighbours`);
    renameSync(release.directory, join(databaseFolder, `.removed-${release.id}`));
    await index('list');
    expect(readdirSync(databaseFolder)).toEqual([]);
  });

  it('leaves no calibration to a later build of the same proteins', async () => {
    const calibration = calibrationDirectory(release.directory);
    mkdirSync(calibration);
    await index('list');
    expect(existsSync(calibration)).toBe(true);
    rmSync(release.directory, { recursive: true });
    await build();
    expect(located()).toEqual(release);
    expect(existsSync(calibration)).toBe(false);
  });
});
