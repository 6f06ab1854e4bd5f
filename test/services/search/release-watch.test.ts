import { closeSync, cpSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readManifest } from '#src/release/manifest.js';
import { ReleaseWatch } from '#src/services/search/release-watch.js';
import { SOON } from '../../tools/expectations.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

let small: SmallAppliance | undefined;
let watch: ReleaseWatch | undefined;
afterEach(async () => {
  await watch?.stop();
  await small?.close();
  watch = small = undefined;
});

type Notice = readonly [problem: string, isServed: boolean];

const QUICK = { idleBytesPerSecond: 2 ** 30, busyBytesPerSecond: 2 ** 30, restMs: 20 };

/** Inverts one byte in the middle of a file of the served release. */
function flip(path: string): void {
  const descriptor = openSync(path, 'r+');
  const at = Math.floor(statSync(path).size / 2);
  const byte = Buffer.alloc(1);
  readSync(descriptor, byte, 0, 1, at);
  writeSync(descriptor, Buffer.of(byte[0]! ^ 1), 0, 1, at);
  closeSync(descriptor);
}

/** Serves a database of 60 proteins, watched at a quick pace, after one search of it has opened its release. */
async function serveWatched() {
  small = await startSmallAppliance();
  const { appliance, url, sequences } = small;
  const key = await small.keyOf('lab');
  const search = (index: number, database?: string): Promise<Response> =>
    fetch(`${url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: { kind: 'protein_sequence', sequence: sequences[index] }, database }),
    });
  const [{ slug, defaultReleaseId: id }] = appliance.releases.databases();
  const folderOf = (database: string): string => join(appliance.config.indexesFolder, database, id);
  /** Copies the database under another slug, as an operator does with cp. */
  const copyTo = async (database: string): Promise<void> => {
    cpSync(folderOf(slug), folderOf(database), { recursive: true });
    const { manifest } = appliance.releases.release(id, slug)!;
    await appliance.releases.publish({ id, slug: database, manifest, publishedAt: new Date().toISOString() });
  };
  const missing = async (): Promise<readonly string[]> =>
    ((await (await fetch(`${url}/readyz`)).json()) as { missing: string[] }).missing;
  const notices: Notice[] = [];
  const served = appliance.releaseWatch;
  watch = served;
  // The server has started it, at its own pace.
  await served.stop();
  const start = (): void =>
    served.start((problem, _, isServed) => void notices.push([problem, isServed]), QUICK);
  return {
    releases: appliance.releases,
    id,
    slug,
    folderOf,
    copyTo,
    search,
    missing,
    notices,
    served,
    start,
  };
}

const CHANGED = expect.stringMatching(/^tokens.arrow has the SHA-256/);

it('a release whose tokens change while it serves is taken out of service, and the log reports it', async () => {
  const { id, slug, folderOf, search, missing, notices, start } = await serveWatched();
  expect((await search(0)).status).toBe(200);
  start();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(notices).toEqual([]);

  flip(join(folderOf(slug), 'tokens.arrow'));
  await expect.poll(() => notices, SOON).toEqual([[CHANGED, false]]);
  const answer = await search(1);
  expect(answer.status).toBe(503);
  expect(answer.headers.get('service-error-type')).toBe('storage_unavailable');
  expect(await missing()).toEqual([expect.stringContaining(id)]);
});

describe('a release that is out of service', () => {
  it('serves again when a pass finds its files whole', async () => {
    const { slug, folderOf, search, missing, notices, start } = await serveWatched();
    expect((await search(0)).status).toBe(200);
    start();
    flip(join(folderOf(slug), 'tokens.arrow'));
    await expect.poll(() => notices.length, SOON).toBe(1);
    flip(join(folderOf(slug), 'tokens.arrow'));
    await expect.poll(missing, SOON).toEqual([]);
    expect((await search(1)).status).toBe(200);
  });

  it('serves again at once when it was removed and is published anew', async () => {
    const { releases, id, slug, folderOf, copyTo, search, missing, notices, served, start } =
      await serveWatched();
    expect((await search(0)).status).toBe(200);
    await copyTo('other');
    for (const database of [slug, 'other']) flip(join(folderOf(database), 'tokens.arrow'));
    start();
    await expect.poll(() => notices.length, SOON).toBe(1);
    await served.stop();
    const row = releases.release(id, slug)!;
    await releases.remove(id, slug);
    // The other copy is damaged, too.
    expect((await search(1, 'other')).status).toBe(503);
    await releases.remove(id, 'other');
    expect(await missing()).not.toContainEqual(expect.stringContaining('out of service'));
    flip(join(folderOf(slug), 'tokens.arrow'));
    await releases.publish({ ...row, publishedAt: new Date().toISOString() });
    expect((await search(1, slug)).status).toBe(200);
  });
});

describe('a release of two databases', () => {
  it('stays in service when the database is removed that it was opened from', async () => {
    const { releases, id, slug, folderOf, copyTo, search, missing, notices, served, start } =
      await serveWatched();
    await copyTo('aaa');
    expect((await search(0, 'aaa')).status).toBe(200);
    expect(served.directoryOf(id)).toBe(folderOf('aaa'));
    await releases.remove(id, 'aaa');
    rmSync(folderOf('aaa'), { recursive: true });
    start();
    await expect.poll(() => served.directoryOf(id), SOON).toBe(folderOf(slug));
    expect((await search(1, slug)).status).toBe(200);
    expect([notices, await missing()]).toEqual([[], []]);
  });

  it('is served from its whole copy when the other is damaged, and the log reports that', async () => {
    const { id, slug, folderOf, copyTo, search, missing, notices, served, start } = await serveWatched();
    await copyTo('aaa');
    expect((await search(0, 'aaa')).status).toBe(200);
    flip(join(folderOf('aaa'), 'tokens.arrow'));
    start();
    await expect.poll(() => notices, SOON).toEqual([[CHANGED, true]]);
    expect((await search(1, 'aaa')).status).toBe(200);
    expect(served.directoryOf(id)).toBe(folderOf(slug));
    expect(await missing()).toEqual([]);
  });
});

it('a release that no database has is forgotten, and is no damage', async () => {
  const notices: string[] = [];
  const forgotten: string[] = [];
  watch = new ReleaseWatch({ placesOf: () => [], forget: (id) => void forgotten.push(id) });
  watch.add({ id: 'dbr_1', directory: '/nowhere', manifest: {} as never });
  watch.start((problem) => void notices.push(problem), QUICK);
  await expect.poll(() => forgotten, SOON).toEqual(['dbr_1']);
  watch.require('dbr_1');
  expect([notices, watch.problems(), watch.directoryOf('dbr_1')]).toEqual([[], [], undefined]);
});

it('the rate of reads is limited', async () => {
  small = await startSmallAppliance();
  const [{ slug, defaultReleaseId: id }] = small.appliance.releases.databases();
  const directory = join(small.appliance.config.indexesFolder, slug, id);
  const manifest = await readManifest(directory);
  const sizeBytes = statSync(join(directory, 'tokens.arrow')).size;
  flip(join(directory, 'tokens.arrow'));
  const places = [{ directory, publishedAt: '2026-01-01T00:00:00Z' }];
  watch = new ReleaseWatch({ placesOf: () => places, forget: () => undefined });
  watch.add({ id, directory, manifest });
  const startedAt = performance.now();
  const notices: string[] = [];
  watch.start((problem) => void notices.push(problem), { ...QUICK, idleBytesPerSecond: sizeBytes });
  await expect.poll(() => notices.length, SOON).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(900);
});
