// @module-tag fast

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ByteBody } from '#src/contract/grammar/route.js';
import { newId } from '#src/ids.js';
import { MEBIBYTE_BYTES } from '#src/limits.js';
import { StorageRoom } from '#src/services/storage/room.js';
import { PartReceiver } from '#src/services/storage/upload-receive.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { openStorageTables, type StorageTables } from '#src/store/storage/storage.js';
import type { UploadRow } from '#src/store/storage/uploads.js';
import { EventTable } from '#src/store/tables/events.js';

/* Parts whose bytes come when the test sends them, on a real store. */

const NOW = new Date('2026-08-08T00:00:00Z');
const PART_BYTES = 40 * MEBIBYTE_BYTES;
const DISK_BYTES = 50 * MEBIBYTE_BYTES;
const HEADERS = {} as never;

let folder: string;
let store: ControlStore;
let tables: StorageTables;
let room: StorageRoom;
let freeBytes: number;
let receiver: PartReceiver;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-parts-'));
  store = openControlStore(folder);
  tables = openStorageTables(store, folder, new EventTable(store));
  freeBytes = DISK_BYTES;
  room = new StorageRoom({ freeBytes: async () => freeBytes }, { quotaBytes: PART_BYTES, reserveBytes: 0 });
  receiver = new PartReceiver({ table: tables.uploads, objects: tables.objects, room, now: () => NOW });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const incoming = (): string[] => readdirSync(join(folder, 'objects', 'incoming'));

function create(partSizeBytes: number): Promise<UploadRow> {
  const upload = {
    id: newId('upl'),
    organizationId: 'lab',
    keyId: 'key_1',
    path: 'a',
    contentType: 'text/plain',
    sizeBytes: partSizeBytes,
    partSizeBytes,
    partCount: 1,
    createdAt: NOW.toISOString(),
    expiresAt: new Date(NOW.getTime() + 1_000).toISOString(),
  };
  return tables.uploads.create(
    upload,
    () => undefined,
    (created) => created,
  );
}

/** A body that brings the pieces. Without an end it then waits, as a connection without a client does. */
function bodyOf(pieces: readonly Uint8Array[], hasEnd = false) {
  let stop: (error: Error) => void = () => undefined;
  let reach: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => (stop = reject));
  stopped.catch(() => undefined);
  const waiting = new Promise<void>((resolve) => (reach = resolve));
  const bytes = (async function* () {
    yield* pieces;
    reach();
    if (!hasEnd) await stopped;
  })();
  const body: ByteBody = { bytes, end: stop };
  return { body, waiting };
}

const text = (letters: string) => [Buffer.from(letters)];

describe('a part that is sent again', () => {
  it('ends the earlier write, which keeps no bytes', async () => {
    const upload = await create(5);
    const first = bodyOf(text('fir'));
    const ended = receiver.receive(upload, 1, first.body, HEADERS);
    const refused = expect(ended).rejects.toMatchObject({ code: 'part_superseded' });
    await first.waiting;
    await receiver.receive(upload, 1, bodyOf(text('quick'), true).body, HEADERS);
    await refused;
    const { result } = await tables.uploads.acknowledge(upload.id, 1, undefined, NOW);
    expect(result?.acknowledged?.sizeBytes).toBe(5);
    expect(incoming()).toEqual([]);
  });

  it('has one file on the disk, however many writes came before', async () => {
    const upload = await create(5);
    const writes = Array.from({ length: 12 }, () => {
      const { body } = bodyOf(text('half'));
      return receiver.receive(upload, 1, body, HEADERS).catch(({ code }: { readonly code: string }) => code);
    });
    expect(new Set(await Promise.all(writes.slice(0, -1)))).toEqual(new Set(['part_superseded']));
    await expect.poll(incoming).toHaveLength(1);
    await receiver.receive(upload, 1, bodyOf(text('quick'), true).body, HEADERS);
    expect(await writes.at(-1)).toBe('part_superseded');
    expect(incoming()).toEqual([]);
  });

  it('does not end the earlier write if its own length is refused', async () => {
    const upload = await create(5);
    const { body, waiting } = bodyOf(text('quick'), true);
    const written = receiver.receive(upload, 1, body, HEADERS);
    const wrong = { ...bodyOf([]).body, announcedBytes: 4 };
    await expect(receiver.receive(upload, 1, wrong, HEADERS)).rejects.toMatchObject({
      code: 'part_size_mismatch',
    });
    await waiting;
    expect((await written).sizeBytes).toBe(5);
  });
});

describe('a part that was acknowledged', () => {
  it('is replaced only within the quota, because both contents are stored meanwhile', async () => {
    const upload = await create(PART_BYTES - 5);
    const small = await create(3);
    const write = (letters: string) => receiver.receive(small, 1, bodyOf(text(letters), true).body, HEADERS);
    await write('one');
    await tables.uploads.acknowledge(small.id, 1, undefined, NOW);
    await expect(write('two')).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    await write('one');
    await tables.uploads.abort(upload.id, NOW);
    expect((await write('two')).sizeBytes).toBe(3);
  });
});

describe('the disk space of a part', () => {
  it('is reserved as the bytes come, so that a client that sends one byte holds little of it', async () => {
    const { body, waiting } = bodyOf([Buffer.alloc(1)]);
    const written = receiver.receive(await create(PART_BYTES), 1, body, HEADERS);
    const refused = expect(written).rejects.toThrow('gone');
    await waiting;
    await room.requireDisk(PART_BYTES);
    await expect(room.requireDisk(DISK_BYTES)).rejects.toMatchObject({ code: 'storage_full' });
    body.end(new Error('gone'));
    await refused;
    await room.requireDisk(DISK_BYTES);
  });

  it('is refused before the first byte if the whole part does not fit', async () => {
    freeBytes = PART_BYTES - 1;
    const { body } = bodyOf([]);
    await expect(receiver.receive(await create(PART_BYTES), 1, body, HEADERS)).rejects.toMatchObject({
      code: 'storage_full',
    });
  });

  it('is refused in the middle if the disk fills meanwhile, and nothing is kept', async () => {
    const upload = await create(PART_BYTES);
    const pieces = (function* () {
      yield Buffer.alloc(8 * MEBIBYTE_BYTES);
      freeBytes = MEBIBYTE_BYTES;
      yield Buffer.alloc(8 * MEBIBYTE_BYTES);
    })();
    const { body } = bodyOf(pieces as never, true);
    await expect(receiver.receive(upload, 1, body, HEADERS)).rejects.toMatchObject({ code: 'storage_full' });
    expect(incoming()).toEqual([]);
    freeBytes = DISK_BYTES;
    await room.requireDisk(DISK_BYTES);
  });
});
