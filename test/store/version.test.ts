import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore } from '#src/store/control-store.js';
import { CONTROL_FOLDER } from '#src/store/prepare.js';
import { requireSoundControlState } from '#src/store/probe.js';
import { openSnapshot } from '#src/store/snapshot.js';
import { MIGRATION_MEANINGS, type ControlRoot, type Migration } from '#src/store/migrations.js';
import { copyPath } from '#src/store/copy.js';
import { latestVersion, migrate, VERSION_KEY } from '#src/store/version.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-version-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Rows = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

async function onRoot<Result>(work: (root: ControlRoot) => Result): Promise<Result> {
  const root: ControlRoot = open({ path: join(folder, CONTROL_FOLDER), maxDbs: 64, encoding: 'json' });
  try {
    return work(root);
  } finally {
    await root.close();
  }
}

function write(tables: Rows): Promise<void> {
  return onRoot((root) => {
    for (const [name, rows] of Object.entries(tables)) {
      const table = root.openDB<unknown, string>({ name, encoding: 'json' });
      for (const [key, value] of Object.entries(rows)) table.putSync(key, value);
    }
  });
}

function read(name: string): Promise<Record<string, unknown>> {
  return onRoot((root) => {
    const table = root.openDB<unknown, string>({ name, encoding: 'json' });
    return Object.fromEntries([...table.getRange()].map(({ key, value }) => [key, value]));
  });
}

const rename: Migration = function namesToTitles(root) {
  const table = root.openDB<{ name?: string; title?: string }, string>({ name: 'books', encoding: 'json' });
  for (const { key, value } of [...table.getRange()]) table.putSync(key, { title: value.name });
};
const count: Migration = function countBooks(root) {
  const books = root.openDB<{ title: string }, string>({ name: 'books', encoding: 'json' });
  const titled = [...books.getRange()].filter(({ value }) => value.title !== undefined).length;
  root.openDB<number, string>({ name: 'totals', encoding: 'json' }).putSync('books', titled);
};
const fail: Migration = function loseHeart(root) {
  root.openDB<unknown, string>({ name: 'books', encoding: 'json' }).putSync('a', 'half done');
  throw new Error('no heart');
};

describe('the version of the control state', () => {
  it('of an empty folder is the latest, without a migration', async () => {
    await onRoot((root) => migrate(root, folder, [rename, fail]));
    expect(await read('settings')).toEqual({ [VERSION_KEY]: '3' });
  });

  it('is 1 for data that have none, which every migration then passes through in order', async () => {
    await write({ books: { a: { name: 'A' }, b: { name: 'B' } } });
    await onRoot((root) => migrate(root, folder, [rename, count]));
    expect(await read('books')).toEqual({ a: { title: 'A' }, b: { title: 'B' } });
    expect(await read('totals')).toEqual({ books: 2 });
    expect(await read('settings')).toEqual({ [VERSION_KEY]: '3' });
  });

  it('leaves a copy of the earlier state, which an older program can use', async () => {
    await write({ books: { a: { name: 'A' } } });
    await onRoot((root) => migrate(root, folder, [rename]));
    const control = join(folder, CONTROL_FOLDER);
    rmSync(control, { recursive: true });
    renameSync(dirname(copyPath(folder, 1)), control);
    expect(await read('books')).toEqual({ a: { name: 'A' } });
    expect(await read('settings')).toEqual({});
  });

  it('stays if that copy cannot be made', async () => {
    await write({ books: { a: { name: 'A' } } });
    const nowhere = join(folder, 'a-file');
    writeFileSync(nowhere, '');
    await expect(onRoot((root) => migrate(root, nowhere, [rename]))).rejects.toThrow(
      'cannot take the copy of before',
    );
    expect(await read('books')).toEqual({ a: { name: 'A' } });
  });

  it('has a sentence for every migration', () => {
    expect(MIGRATION_MEANINGS).toHaveLength(latestVersion() - 1);
  });

  it('records the finished migrations, which do not run again', async () => {
    await write({ books: { a: { title: 'A' } }, settings: { [VERSION_KEY]: '2' } });
    await onRoot((root) => migrate(root, folder, [fail, count]));
    await onRoot((root) => migrate(root, folder, [fail, fail]));
    expect(await read('books')).toEqual({ a: { title: 'A' } });
    expect(await read('totals')).toEqual({ books: 1 });
  });

  it('stays, as does every row, if a migration fails; the error names the migration', async () => {
    await write({ books: { a: { name: 'A' } } });
    await expect(onRoot((root) => migrate(root, folder, [rename, fail]))).rejects.toThrow(
      'from version 2 to 3 (loseHeart); nothing has changed.',
    );
    expect(await read('books')).toEqual({ a: { name: 'A' } });
    expect((await read('settings'))[VERSION_KEY]).toBeUndefined();
  });

  it('of a newer program is refused in one sentence by every command', async () => {
    const newer = String(latestVersion() + 1);
    await write({ settings: { [VERSION_KEY]: newer } });
    const refusal = {
      code: 'data_folder_newer',
      message: expect.stringMatching(
        new RegExp(
          `^${folder} was written by a newer Gloaming: .* version ${newer}, .* ${latestVersion()} at most; [^.]+\\.$`,
        ),
      ),
    };
    expect(() => openControlStore(folder)).toThrow(expect.objectContaining(refusal));
    await expect(openSnapshot(folder)).rejects.toMatchObject(refusal);
    // The search for damage runs first, finds none, and leaves the refusal to openControlStore.
    await requireSoundControlState(folder);
    expect(await read('settings')).toEqual({ [VERSION_KEY]: newer });
  });

  it('that is no number is a fault', async () => {
    await write({ settings: { [VERSION_KEY]: 'one' } });
    expect(() => openControlStore(folder)).toThrow('has "one" for a version');
  });

  it('is not changed by readers, nor by a process that works for a server, which refuses it', async () => {
    await write({ books: { a: { name: 'A' } } });
    await (await openSnapshot(folder)).close();
    expect(() => openControlStore(folder, { mayMigrate: false })).toThrow('has version 1 now');
    expect(await read('settings')).toEqual({});
    await openControlStore(folder).close();
    await openControlStore(folder, { mayMigrate: false }).close();
  });

  it('that grows under a running process ends its writing', async () => {
    const store = openControlStore(folder);
    const books = store.table<string>('books');
    await store.transaction(() => books.putSync('a', 'A'));
    await store.table<string>('settings').put(VERSION_KEY, String(latestVersion() + 1));
    await expect(store.transaction(() => books.putSync('b', 'B'))).rejects.toThrow('is to be started again');
    expect([...books.getKeys()]).toEqual(['a']);
    await store.close();
  });
});
