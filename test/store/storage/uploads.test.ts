// @module-tag fast

import { mkdtempSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UPLOAD_TRANSITIONS, type UploadStatus } from '#src/contract/storage/upload-states.js';
import { newId } from '#src/ids.js';
import { UPLOAD_COMPLETION_GRACE_MS, UPLOAD_MEMORY_MS } from '#src/limits.js';
import { EventTable } from '#src/store/tables/events.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { openStorageTables, type StorageTables } from '#src/store/storage/storage.js';
import type { UploadRow } from '#src/store/storage/uploads.js';

/* The states of an upload and the bytes on disk, without HTTP. */

const START = new Date('2026-08-08T00:00:00Z');
const EXPIRY_MS = 1_000_000;
const DUE = new Date(START.getTime() + EXPIRY_MS);
const ACL = { default: 'forbid', rules: [] } as const;

let folder: string;
let store: ControlStore;
let events: EventTable;
let tables: StorageTables;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-uploads-'));
  store = openControlStore(folder);
  events = new EventTable(store);
  tables = openStorageTables(store, folder, events);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function create(path = 'a'): Promise<UploadRow> {
  return tables.uploads.create(
    {
      id: newId('upl'),
      organizationId: 'lab',
      keyId: 'key_1',
      path,
      contentType: 'text/plain',
      sizeBytes: 8,
      partSizeBytes: 4,
      partCount: 2,
      createdAt: START.toISOString(),
      expiresAt: DUE.toISOString(),
    },
    () => undefined,
    (created) => created,
  );
}

async function send(id: string, part: number, text: string, now = START) {
  const received = await tables.objects.receive(once(text), 4);
  const release = await received.persist();
  const { sha256, sizeBytes } = received;
  const change = await tables.uploads.keepPart(id, part, { sha256, sizeBytes }, now);
  release();
  return { ...change, sha256 };
}

async function fill(id: string): Promise<readonly string[]> {
  const segments: string[] = [];
  for (const [part, text] of [
    [1, 'left'],
    [2, 'rite'],
  ] as const) {
    segments.push((await send(id, part, text)).sha256);
    await tables.uploads.acknowledge(id, part, undefined, START);
  }
  return segments;
}

const complete = (upload: UploadRow, segments: readonly string[], at = START) =>
  tables.uploads.complete({ upload, sha256: 'f'.repeat(64), segments, at, acl: ACL, check: () => undefined });

/** Brings an upload into each state in the way that the contract describes. */
async function inState(
  status: UploadStatus,
): Promise<{ readonly upload: UploadRow; readonly segments: readonly string[] }> {
  const { id } = await create(status);
  const segments = status === 'initiated' ? [] : await fill(id);
  if (status === 'completing' || status === 'completed') await tables.uploads.beginCompletion(id, START);
  if (status === 'completed') await complete(tables.uploads.get(id)!, segments);
  if (status === 'aborted') await tables.uploads.abort(id, START);
  if (status === 'expired') await tables.uploads.sweep(DUE);
  const upload = tables.uploads.get(id)!;
  expect(upload.status).toBe(status);
  return { upload, segments };
}

function stored(): string[] {
  return readdirSync(join(folder, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

const STATES = Object.keys(UPLOAD_TRANSITIONS) as UploadStatus[];

describe('an upload', () => {
  it.each(STATES)('that is %s changes only as the table of states allows', async (from) => {
    const attempts: Partial<
      Record<UploadStatus, (upload: UploadRow, segments: readonly string[]) => Promise<unknown>>
    > = {
      uploading: ({ id }) => send(id, 1, 'more'),
      completing: ({ id }) => tables.uploads.beginCompletion(id, START),
      completed: (upload, segments) => complete(upload, segments),
      aborted: ({ id }) => tables.uploads.abort(id, START),
      expired: () => tables.uploads.sweep(new Date(DUE.getTime() + UPLOAD_COMPLETION_GRACE_MS)),
    };
    for (const [to, attempt] of Object.entries(attempts)) {
      const { upload, segments } = await inState(from);
      await attempt(upload, segments);
      const allowed = UPLOAD_TRANSITIONS[from] as readonly string[];
      // Only a failed completion accepts parts again, and parts are not joined while one is missing.
      const isReached = allowed.includes(to) && !(from === 'completing' && to === 'uploading');
      expect({ from, to, is: tables.uploads.get(upload.id)?.status }).toEqual({
        from,
        to,
        is: isReached ? to : from,
      });
      await tables.uploads.abort(upload.id, START);
    }
  });

  it('whose completion fails takes parts again, and expires at its own time', async () => {
    const { upload } = await inState('completing');
    await tables.uploads.sweep(DUE);
    expect(tables.uploads.get(upload.id)?.status).toBe('completing');
    await tables.uploads.reopen(upload.id);
    expect(tables.uploads.get(upload.id)?.status).toBe('uploading');
    await tables.uploads.sweep(DUE);
    expect(tables.uploads.get(upload.id)?.status).toBe('expired');
    await tables.uploads.reopen(upload.id);
    expect(tables.uploads.get(upload.id)?.status).toBe('expired');
  });

  it('has one end: the first of completion, abort and expiry', async () => {
    for (const first of ['complete', 'abort'] as const) {
      const { upload, segments } = await inState('completing');
      const race =
        first === 'complete'
          ? [complete(upload, segments), tables.uploads.abort(upload.id, START)]
          : [tables.uploads.abort(upload.id, START), complete(upload, segments)];
      const [won, lost] = await Promise.all(race);
      expect([won!.result === undefined, lost!.result === undefined]).toEqual([false, true]);
      const winner = first === 'complete' ? 'completed' : 'aborted';
      expect(tables.uploads.get(upload.id)?.status).toBe(winner);
      const file = tables.files.at('lab', 'completing');
      expect(file === undefined).toBe(first === 'abort');
      if (file !== undefined) await tables.files.remove('lab', 'completing', (files) => files, START);
    }
    const { upload, segments } = await inState('completing');
    const late = new Date(DUE.getTime() + UPLOAD_COMPLETION_GRACE_MS);
    const [, lost] = await Promise.all([tables.uploads.sweep(late), complete(upload, segments, late)]);
    expect([tables.uploads.get(upload.id)?.status, lost.result]).toEqual(['expired', undefined]);
  });

  it('counts bytes that come after acknowledged ones until they replace these or it ends', async () => {
    const { id } = await create();
    const used = () => tables.usage.get('lab').uploadBytes;
    await send(id, 1, 'left');
    await tables.uploads.acknowledge(id, 1, undefined, START);
    const before = used();
    await send(id, 1, 'left');
    expect(used()).toBe(before);
    await send(id, 1, 'new1');
    await send(id, 1, 'new2');
    expect(used()).toBe(before + 4);
    await tables.uploads.acknowledge(id, 1, undefined, START);
    expect(used()).toBe(before);
    await send(id, 1, 'new3');
    expect(used()).toBe(before + 4);
    await tables.uploads.abort(id, START);
    expect(tables.usage.get('lab')).toMatchObject({ uploadBytes: 0, uploadCount: 0 });
  });

  it('accepts no part after its expiry, before and after the sweep', async () => {
    const { id } = await create();
    const { upload, result } = await send(id, 1, 'late', DUE);
    expect([upload.status, result]).toEqual(['expired', undefined]);
    await tables.objects.collect();
    expect(stored()).toEqual([]);
  });

  it('frees its bytes when it ends, and is deleted a month later', async () => {
    const { upload } = await inState('uploading');
    expect(stored().length).toBe(2);
    await tables.uploads.sweep(DUE);
    await tables.objects.collect();
    expect(stored()).toEqual([]);
    expect(tables.uploads.get(upload.id)?.status).toBe('expired');
    await tables.uploads.sweep(new Date(DUE.getTime() + UPLOAD_MEMORY_MS));
    expect(tables.uploads.get(upload.id)).toBe(undefined);
  });

  it('records one event for its file and one for its deletion', async () => {
    const { upload } = await inState('completed');
    const { fileId } = upload.completed!;
    await tables.uploads.abort(upload.id, START);
    await tables.files.remove('lab', 'completed', (files) => files, START);
    expect(events.after(fileId, 0).map(({ type }) => type)).toEqual(['file.completed', 'file.deleted']);
    await tables.files.sweep(new Date(START.getTime() + UPLOAD_MEMORY_MS));
    expect(events.after(fileId, 0)).toEqual([]);
  });
});

describe('bytes on disk', () => {
  it('that a crash left without a transaction are removed at the next start; others stay', async () => {
    const { segments } = await inState('completed');
    const orphan = 'ab'.repeat(32);
    mkdirSync(join(folder, 'objects', 'ab'), { recursive: true });
    writeFileSync(join(folder, 'objects', 'ab', orphan), 'orphan');
    writeFileSync(join(folder, 'objects', 'incoming', 'half'), 'ha');
    await store.close();
    store = openControlStore(folder);
    tables = openStorageTables(store, folder, new EventTable(store));
    expect(await tables.objects.recover()).toEqual({ removedCount: 2 });
    expect(stored().sort()).toEqual([...segments].sort());
  });

  it('that never got a reference are collected', async () => {
    const received = await tables.objects.receive(once('lost'), 4);
    const release = await received.persist();
    await tables.objects.collect();
    expect(stored()).toEqual([received.sha256]);
    release();
    await tables.objects.collect();
    expect(stored()).toEqual([]);
  });

  it('stay while a reader has them open, and are removed afterwards', async () => {
    const { upload, segments } = await inState('completed');
    const opened = tables.contents.open(upload.completed!.sha256, 0, 8)!;
    await tables.files.remove('lab', 'completed', (files) => files, START);
    await tables.objects.collect();
    expect(stored().length).toBe(segments.length);
    let text = '';
    for await (const chunk of opened.bytes) text += Buffer.from(chunk).toString();
    expect(text).toBe('leftrite');
    await tables.objects.collect();
    expect(stored()).toEqual([]);
    expect(tables.contents.open(upload.completed!.sha256, 0, 8)).toBe(undefined);
  });

  it('are read no further than one chunk past the bound', async () => {
    let callCount = 0;
    const endless = (async function* () {
      for (;;) yield Buffer.alloc((callCount += 1) && 1_000);
    })();
    const received = await tables.objects.receive(endless, 2_500);
    expect([received.sizeBytes, callCount]).toEqual([3_000, 3]);
    await received.discard();
    expect(stored()).toEqual([]);
  });

  it('leave no file if their source fails', async () => {
    const broken = (async function* () {
      yield Buffer.from('ha');
      throw new Error('gone');
    })();
    await expect(tables.objects.receive(broken, 4)).rejects.toThrow('gone');
    expect(stored()).toEqual([]);
  });
});
