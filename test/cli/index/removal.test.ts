import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { LocatedRelease } from '#src/pipelines/catalog.js';
import { lockMeasurements, measuring } from '#src/pipelines/measure.js';
import { openProgram } from '#src/cli/program/program.js';
import { openControlStore } from '#src/store/control-store.js';
import { RunTable, type NewRun } from '#src/store/tables/runs.js';
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

/** Accepts a queued run that searches a release, as the server does. */
async function acceptRun(name: string, releaseId: string): Promise<void> {
  const traces = { databaseSnapshots: [{ name: 'alpha', version: releaseId, kind: 'homology_release' }] };
  await withRuns((runs) => runs.create({ ...RUN, id: name, traces }, Buffer.alloc(0)));
}

const cancelRun = (name: string) => withRuns((runs) => runs.end(name, { to: 'cancelled', at: new Date() }));

async function withRuns(work: (runs: RunTable) => Promise<unknown>): Promise<void> {
  const store = openControlStore(environment.GLOAMING_DATA);
  await work(new RunTable(store)).finally(() => store.close());
}

const RUN: Omit<NewRun, 'id'> = {
  organizationId: 'lab',
  keyId: 'key_1',
  requestId: 'req_1',
  endpoint: 'homology.batch_search',
  priority: 'normal',
  isBackground: true,
  inputSha256: '0'.repeat(64),
  createdAt: '2026-01-02T03:04:05Z',
  totalCount: 1,
};

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

  it('is refused while a run of the server is unfinished, and names the run', async () => {
    await acceptRun('run_1', 'dbr_another');
    await acceptRun('run_2', release.id);
    const message =
      `alpha ${release.id.slice(0, 16)} is searched by the unfinished run run_2: wait until the end, or cancel with ` +
      '"gloaming runs cancel run_2".';
    await expect(remove()).rejects.toMatchObject({ code: 'release_in_use', message });
    await acceptRun('run_3', release.id);
    await expect(remove()).rejects.toThrow('is searched by the unfinished run run_2 and 1 more: wait');
    expect(located()).toEqual(release);
    for (const name of ['run_1', 'run_2', 'run_3']) await cancelRun(name);
    await remove();
    expect(readdirSync(databaseFolder)).toEqual([]);
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

describe('gloaming index prune', () => {
  it('keeps a release that an unfinished run searches, and names both', async () => {
    for (const title of ['Second', 'Third']) await index('annotate', 'alpha', '--title', title);
    await acceptRun('run_4', release.id);
    const stays = `alpha ${release.id.slice(0, 16)} stays: the unfinished run run_4 searches it.\n`;
    const output = await index('prune', 'alpha', '--keep', '0', '--yes');
    expect(output).toContain(stays);
    expect(output.match(/^alpha +dbr_\S+ {2}/gm)).toHaveLength(1);
    expect(existsSync(release.directory)).toBe(true);
    expect(await index('prune', 'alpha', '--keep', '0', '--yes')).toMatch(
      new RegExp(`^${stays}Nothing to prune: .* or is needed by one that stays or by a run\\.\n$`),
    );
    await cancelRun('run_4');
    await index('prune', 'alpha', '--keep', '0', '--yes');
    expect(existsSync(release.directory)).toBe(false);
  });
});
