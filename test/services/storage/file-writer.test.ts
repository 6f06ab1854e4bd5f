import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MEBIBYTE_BYTES } from '#src/limits.js';
import { FileWriter, type WrittenFile } from '#src/services/storage/file-writer.js';
import { StorageRoom } from '#src/services/storage/room.js';
import { realDisk } from '#src/store/objects/disk.js';
import { openObjects } from '#src/store/objects/objects.js';
import { EventTable } from '#src/store/tables/events.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { openStorageTables, type StorageTables } from '#src/store/storage/storage.js';

/* Files that runs write, on a real store. */

const QUOTA_BYTES = 1_000;
const lab = { organizationId: 'lab', keyId: 'key_1' };
let folder: string;
let store: ControlStore;
let tables: StorageTables;
let room: StorageRoom;
let writer: FileWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-file-writer-'));
  store = openControlStore(folder);
  tables = openStorageTables(store, folder, new EventTable(store));
  room = new StorageRoom(tables.objects, { quotaBytes: QUOTA_BYTES, reserveBytes: 0 });
  writer = new FileWriter({ ...tables, room });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

async function written(text: string) {
  const file = writer.open(lab);
  for (const piece of text.match(/.{1,7}/gs) ?? []) await file.write(Buffer.from(piece));
  return file.end();
}

const putAll = (files: readonly (readonly [string, WrittenFile])[]) =>
  writer.put(
    files.map(([path, file]) => ({ written: file, path, contentType: 'text/plain' })),
    lab,
    new Date(),
  );

async function put(path: string, text: string) {
  const file = await written(text);
  const [row] = await store.transaction(() => putAll([[path, file]]));
  file.release();
  return row;
}

async function textOf(path: string): Promise<string> {
  const { sha256, sizeBytes } = tables.files.at('lab', path)!;
  const chunks: Uint8Array[] = [];
  for await (const chunk of tables.contents.open(sha256, 0, sizeBytes)!.bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const filesOnDisk = (): string[] =>
  readdirSync(join(folder, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe('a file that the appliance writes', () => {
  it('exists under its digest when its transaction commits', async () => {
    const row = await put('a/b.txt', 'twilight zone');
    expect(row).toMatchObject({ path: 'a/b.txt', sizeBytes: 13, organizationId: 'lab' });
    expect(await textOf('a/b.txt')).toBe('twilight zone');
    expect(filesOnDisk()).toEqual([row.sha256]);
    expect(tables.usage.get('lab')).toMatchObject({ fileBytes: 13, fileCount: 1 });
  });

  it('may be empty', async () => {
    await put('empty', '');
    expect(await textOf('empty')).toBe('');
    await tables.objects.collect();
    expect(filesOnDisk()).toEqual([]);
  });

  it('stays the same version when it is written again with the same bytes', async () => {
    const first = await put('same', 'bytes');
    expect(await put('same', 'bytes')).toEqual(first);
    expect((await put('same', 'other')).version).not.toBe(first.version);
  });

  it('leaves nothing on disk if it was discarded, or written and never put', async () => {
    const file = writer.open(lab);
    await file.write(Buffer.from('half'));
    await file.discard();
    await file.discard();
    expect(filesOnDisk()).toEqual([]);
    const unused = await written('whole');
    await tables.objects.collect();
    expect(filesOnDisk()).toHaveLength(1);
    unused.release();
    await tables.objects.collect();
    expect(filesOnDisk()).toEqual([]);
  });

  it('is refused, while it is written, where the organization has no room for it', async () => {
    await put('first', 'x'.repeat(900));
    const file = writer.open(lab);
    await file.write(Buffer.alloc(100));
    await expect(file.write(Buffer.alloc(1))).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    await file.discard();
  });

  it('releases no more space than it reserved if the disk becomes full while it is written', async () => {
    const roomBytes = 64 * MEBIBYTE_BYTES;
    let freeBytes = 3 * roomBytes;
    const bounds = { quotaBytes: Infinity, reserveBytes: 0 };
    const shared = new StorageRoom({ freeBytes: async () => freeBytes }, bounds);
    await shared.take(roomBytes);
    const file = new FileWriter({ ...tables, room: shared }).open(lab);
    await file.write(Buffer.alloc(roomBytes));
    freeBytes = roomBytes;
    await expect(file.write(Buffer.alloc(1))).rejects.toMatchObject({ code: 'storage_full' });
    await file.discard();
    // The space of the other file is still reserved.
    await expect(shared.requireDisk(1)).rejects.toMatchObject({ code: 'storage_full' });
  });

  it('is refused in its transaction, which changes nothing, if its path was taken meanwhile', async () => {
    expect(writer.placeOf('place', lab)).toBe('place');
    const late = [
      ['other', await written('late')],
      ['place', await written('too late')],
    ] as const;
    await put('place/inside', 'early');
    await expect(store.transaction(() => putAll(late))).rejects.toMatchObject({ code: 'path_conflict' });
    expect([tables.files.at('lab', 'place'), tables.files.at('lab', 'other')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(() => writer.placeOf('place', lab)).toThrow(/a file or a folder/);
  });

  it.each([0, 3])('reports the failure of the disk, %i turns late', async (turns) => {
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const open = async (): Promise<never> => {
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      throw full;
    };
    const objects = openObjects(store, folder, { ...realDisk, open });
    const file = new FileWriter({ ...tables, objects, room }).open(lab);
    const write = async (): Promise<void> => {
      for (let at = 0; at < 10; at += 1) await file.write(Buffer.from('x'));
    };
    await expect(write()).rejects.toMatchObject({ code: 'storage_unavailable' });
    await expect(file.end()).rejects.toMatchObject({ code: 'storage_unavailable' });
    await file.discard();
  });
});
