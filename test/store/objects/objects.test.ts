// @module-tag fast

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { openObjects, type Objects } from '#src/store/objects/objects.js';

let folder: string;
let store: ControlStore;
let objects: Objects;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-objects-'));
  store = openControlStore(folder);
  objects = openObjects(store, folder);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function storeText(text: string) {
  const received = await objects.receive(bytesOf(text), Infinity);
  const { sha256, sizeBytes } = received;
  return { sha256, sizeBytes, unpin: await received.persist() };
}

async function filesAfterCollection(): Promise<string[]> {
  await objects.collect();
  return readdirSync(join(folder, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

describe('an object', () => {
  it('stays while it is pinned, and then as long as it has a reference', async () => {
    const { sha256, sizeBytes, unpin } = await storeText('twilight');
    expect(await filesAfterCollection()).toEqual([sha256]);
    await store.transaction(() => objects.addReference(sha256, sizeBytes));
    unpin();
    expect(await filesAfterCollection()).toEqual([sha256]);
    await store.transaction(() => objects.dropReference(sha256));
    expect(await filesAfterCollection()).toEqual([]);
  });

  it('is removed if it has no reference when it is unpinned', async () => {
    const { unpin } = await storeText('twilight');
    unpin();
    expect(await filesAfterCollection()).toEqual([]);
  });

  it('is removed if the transaction of its reference failed', async () => {
    const { sha256, sizeBytes, unpin } = await storeText('twilight');
    const failing = store.transaction(() => {
      objects.addReference(sha256, sizeBytes);
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(await filesAfterCollection()).toEqual([sha256]);
    unpin();
    expect(await filesAfterCollection()).toEqual([]);
  });

  it('does not count as unclaimed if its only reference was dropped while it was pinned', async () => {
    const { sha256, sizeBytes, unpin } = await storeText('twilight');
    await store.transaction(() => objects.addReference(sha256, sizeBytes));
    expect(await filesAfterCollection()).toEqual([sha256]);
    await store.transaction(() => objects.dropReference(sha256));
    expect(await filesAfterCollection()).toEqual([sha256]);
    await store.transaction(() => objects.addReference(sha256, sizeBytes));
    unpin();
    expect(await filesAfterCollection()).toEqual([sha256]);
  });
});
