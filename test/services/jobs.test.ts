import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { processIdentity } from '#src/processes.js';
import { listJobs, openJob } from '#src/services/jobs.js';
import { ROOT } from '../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-jobs-'));
afterAll(() => rmSync(folder, { recursive: true }));

let folders = 0;
const newFolder = (): string => join(folder, String((folders += 1)));

function clockAt(startMs: number) {
  let ms = startMs;
  return {
    pass: (more: number) => (ms += more),
    world: { now: () => new Date(ms), monotonicMs: () => ms },
  };
}

const NAME = { command: 'index build', database: 'lab' };
const ENCODING = { stage: 'Encoding', unit: 'residues' };

describe('a running command', () => {
  it('reports its progress, the time left, and the progress of each task', () => {
    const data = newFolder();
    const { pass, world } = clockAt(Date.UTC(2026, 0, 1));
    const job = openJob(data, NAME, world);
    expect(listJobs(data)).toEqual([]);
    job.update({ ...ENCODING, done: 100, total: 1_000 });
    pass(10_000);
    const tasks = [
      { done: 300, total: 500 },
      { done: 0, total: 500 },
    ];
    job.update({ ...ENCODING, done: 300, total: 1_000, tasks });
    expect(listJobs(data)).toEqual([
      {
        ...NAME,
        ...ENCODING,
        pid: process.pid,
        done: 300,
        total: 1_000,
        tasks,
        startedAt: '2026-01-01T00:00:00.000Z',
        updatedAt: '2026-01-01T00:00:10.000Z',
        // 200 residues in ten seconds.
        leftSeconds: 35,
      },
    ]);
    job.close();
    expect(listJobs(data)).toEqual([]);
  });

  it('writes once a second, and when its stage changes', () => {
    const data = newFolder();
    const { pass, world } = clockAt(0);
    const job = openJob(data, NAME, world);
    const shown = () => listJobs(data)[0]?.done;
    job.update({ ...ENCODING, done: 1, total: 9 });
    pass(999);
    job.update({ ...ENCODING, done: 2, total: 9 });
    expect(shown()).toBe(1);
    pass(1);
    job.update({ ...ENCODING, done: 3, total: 9 });
    expect(shown()).toBe(3);
    job.update({ stage: 'Writing', unit: 'proteins', done: 4, total: 9 });
    expect(shown()).toBe(4);
    job.close();
  });

  it('is ignored once it was killed, even if another process has its id', async () => {
    const data = newFolder();
    const jobs = pathToFileURL(join(ROOT, 'dist/src/services/jobs.js')).href;
    const code = `
      const { openJob } = await import(${JSON.stringify(jobs)});
      openJob(${JSON.stringify(data)}, ${JSON.stringify(NAME)})
        .update(${JSON.stringify({ ...ENCODING, done: 1, total: 2 })});
      console.log('written');
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    expect(listJobs(data)).toMatchObject([{ pid: child.pid, done: 1 }]);
    const file = join(data, 'jobs', `${child.pid}.json`);
    const written = readFileSync(file, 'utf8');
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    expect(listJobs(data)).toEqual([]);

    const other = { ...JSON.parse(written), holder: { ...processIdentity(process.pid), startTicks: '1' } };
    writeFileSync(file, JSON.stringify(other));
    expect(listJobs(data)).toEqual([]);
    // The next job removes stale files.
    openJob(data, NAME).close();
    expect(readdirSync(join(data, 'jobs'))).toEqual([]);
  });

  it('is ignored if its file is no valid report', () => {
    const data = newFolder();
    const job = openJob(data, NAME);
    job.update({ ...ENCODING, done: 1, total: 2 });
    const place = join(data, 'jobs');
    const good = JSON.parse(readFileSync(join(place, `${process.pid}.json`), 'utf8'));
    job.close();
    const lies = [
      null,
      [],
      { ...good, done: 'many' },
      { ...good, stage: { toString: 1 } },
      { ...good, tasks: [{ done: 1 }] },
      { ...good, tasks: [null] },
      { ...good, holder: null },
      { ...good, holder: { pid: -1 } },
      { ...good, padding: 'x'.repeat(300_000) },
    ];
    for (const [at, lie] of lies.entries()) writeFileSync(join(place, `${at + 1}.json`), JSON.stringify(lie));
    writeFileSync(join(place, '77.json'), '{"pid":');
    mkdirSync(join(place, '78.json'));
    expect(listJobs(data)).toEqual([]);
    writeFileSync(join(place, '79.json'), JSON.stringify(good));
    expect(listJobs(data)).toHaveLength(1);
  });

  it('continues if no report can be written', () => {
    const data = join(folder, 'file');
    writeFileSync(data, '');
    const job = openJob(data, NAME);
    job.update({ ...ENCODING, done: 1, total: 2 });
    job.close();
    expect(listJobs(data)).toEqual([]);
  });
});
