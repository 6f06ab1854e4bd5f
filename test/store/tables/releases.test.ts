import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { ReleaseTable } from '#src/store/tables/releases.js';

const A = `dbr_${'a'.repeat(64)}`;
const B = `dbr_${'b'.repeat(64)}`;
let folder: string;
let store: ControlStore;
let table: ReleaseTable<{ title: string }>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-releases-'));
  store = openControlStore(folder);
  table = new ReleaseTable(store);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const row = (id: string, slug: string, day: number) => ({
  id,
  slug,
  publishedAt: `2026-01-0${day}T00:00:00.000Z`,
  manifest: { title: `${slug} of day ${day}` },
});

describe('the holders of a release', () => {
  const holders = () => table.holders(A).map(({ slug, calibrationId }) => [slug, calibrationId]);

  it('are current when read between two commits', async () => {
    expect(holders()).toEqual([]);
    await table.publish(row(A, 'yeast', 1));
    expect(holders()).toEqual([['yeast', undefined]]);
    await table.nameCalibration(A, 'yeast', 'calib_1');
    expect(holders()).toEqual([['yeast', 'calib_1']]);
    await table.publish(row(A, 'coli', 2));
    expect(holders()).toHaveLength(2);
    await table.remove(A, 'yeast');
    expect(holders()).toEqual([['coli', undefined]]);
  });

  it('include changes of another process, even after an earlier read in the same turn', async () => {
    await table.publish(row(A, 'yeast', 1));
    table.holders(A);
    expect(table.database('yeast')).toBeDefined();
    const url = (name: string): string => new URL(`../../../dist/src/${name}.js`, import.meta.url).href;
    const script =
      `import { openControlStore } from '${url('store/control-store')}';` +
      `import { ReleaseTable } from '${url('store/tables/releases')}';` +
      `const store = openControlStore(process.argv[1]); const table = new ReleaseTable(store);` +
      `await table.nameCalibration('${A}', 'yeast', 'calib_2'); await store.close();`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, folder]);
    expect(run.status, String(run.stderr)).toBe(0);
    expect(holders()).toEqual([['yeast', 'calib_2']]);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(holders()).toEqual([['yeast', 'calib_2']]);
  });
});

describe('a calibration', () => {
  it('is named by the release of one database, and stays named when that is published again', async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.publish(row(A, 'coli', 2));
    expect(await table.nameCalibration(A, 'yeast', 'calib_1')).toBe(true);
    await table.publish(row(A, 'yeast', 3));
    expect(table.release(A, 'yeast')).toEqual({ ...row(A, 'yeast', 1), calibrationId: 'calib_1' });
    expect(table.release(A, 'coli')).toEqual(row(A, 'coli', 2));
    expect(await table.nameCalibration(B, 'yeast', 'calib_1')).toBe(false);
  });
});

describe('an observer of releases', () => {
  it('is notified once of a publication, and of a removal', async () => {
    const notices: string[] = [];
    const observed = new ReleaseTable(store, {
      onPublished: ({ id, slug }, { defaultReleaseId }) =>
        void notices.push(
          `${slug} has ${id === A ? 'A' : 'B'}, default ${defaultReleaseId === A ? 'A' : 'B'}`,
        ),
      onRemoved: (id, slug) => void notices.push(`${slug} lost ${id === A ? 'A' : 'B'}`),
    });
    await observed.publish(row(A, 'yeast', 1));
    await observed.publish(row(B, 'yeast', 2));
    await observed.publish(row(A, 'yeast', 3));
    await observed.publish(row(A, 'coli', 3));
    await observed.remove(A, 'yeast');
    await observed.remove(A, 'yeast');
    expect(notices).toEqual([
      'yeast has A, default A',
      'yeast has B, default B',
      'coli has A, default A',
      'yeast lost A',
    ]);
  });
});

describe('the release table', () => {
  it("makes the newest publication its database's default and the first database the server's", async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.publish(row(B, 'yeast', 2));
    await table.publish(row(B, 'coli', 3));
    expect(table.database('yeast')?.defaultReleaseId).toBe(B);
    expect(table.releases('yeast').map(({ id }) => id)).toEqual([B, A]);
    expect(table.defaultDatabase()?.slug).toBe('yeast');
    expect(table.database(table.database('coli')!.id)?.slug).toBe('coli');
  });

  it('replaces a provisional default of the server by the next new database, once', async () => {
    await table.publish(row(A, 'demo', 1), { isProvisional: true });
    expect(table.defaultDatabase()?.slug).toBe('demo');
    await table.publish(row(B, 'demo', 2));
    expect(table.defaultDatabase()?.slug).toBe('demo');
    await table.publish(row(A, 'yeast', 3));
    await table.publish(row(A, 'coli', 4));
    expect(table.defaultDatabase()?.slug).toBe('yeast');
  });

  it('keeps a provisional default that the operator has chosen, too', async () => {
    await table.publish(row(A, 'demo', 1), { isProvisional: true });
    expect(await table.setDefaultDatabase('demo')).toBe(true);
    await table.publish(row(A, 'yeast', 2));
    expect(table.defaultDatabase()?.slug).toBe('demo');
  });

  it('forgets a provisional default that is removed', async () => {
    await table.publish(row(A, 'demo', 1), { isProvisional: true });
    await table.remove(A, 'demo');
    await table.publish(row(A, 'demo', 2));
    await table.publish(row(A, 'yeast', 3));
    expect(table.defaultDatabase()?.slug).toBe('demo');
  });

  it('keeps the first time of publication of a release that is published again', async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.publish(row(A, 'yeast', 5));
    expect(table.release(A, 'yeast')?.publishedAt).toBe('2026-01-01T00:00:00.000Z');
  });

  it('holds equal content under several names and removes one of them only', async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.publish(row(A, 'backup', 2));
    expect(table.holders(A).map(({ slug }) => slug)).toEqual(['backup', 'yeast']);
    expect(await table.remove(A, 'yeast')).toBe(true);
    expect(table.holders(A).map(({ slug }) => slug)).toEqual(['backup']);
    expect(table.database('yeast')).toBeUndefined();
    expect(await table.remove(A, 'yeast')).toBe(false);
  });

  it('falls back to the newest remaining release, and unsets a default database that is removed', async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.publish(row(B, 'yeast', 2));
    await table.remove(B, 'yeast');
    expect(table.database('yeast')?.defaultReleaseId).toBe(A);
    await table.remove(A, 'yeast');
    expect(table.defaultDatabase()).toBeUndefined();
    expect(table.databases()).toEqual([]);
  });

  it('survives being closed and opened again', async () => {
    await table.publish(row(A, 'yeast', 1));
    await table.share('yeast', ['lab']);
    await store.close();
    store = openControlStore(folder);
    const again = new ReleaseTable<{ title: string }>(store);
    expect(again.database('yeast')).toMatchObject({
      slug: 'yeast',
      defaultReleaseId: A,
      organizationIds: ['lab'],
    });
    expect(await again.share('none', undefined)).toBe(false);
  });
});
