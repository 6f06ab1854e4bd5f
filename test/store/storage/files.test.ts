// @module-tag fast

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ControlStore } from '#src/store/control-store.js';
import type { FileRow } from '#src/store/storage/files.js';
import { openStorageTables, type StorageTables } from '#src/store/storage/storage.js';
import { EventTable } from '#src/store/tables/events.js';
import { WebhookTable } from '#src/store/tables/webhooks.js';
import { useScratchStore } from '../scratch-store.js';

/* The deletion of a folder of files, without HTTP. */

const START = new Date('2026-08-08T00:00:00Z');
const ACL = { default: 'forbid', rules: [] } as const;
const EMPTY = { sha256: createHash('sha256').digest('hex'), sizeBytes: 0, segmentBytes: 1 };
/** Files of one transaction. */
const GROUP = 64;
const COUNT = 2 * GROUP + 7;

type WebhookRows = ReturnType<ControlStore['table']>;

const scratch = useScratchStore();
let webhooks: WebhookTable;
let tables: StorageTables;
let events: EventTable;

beforeEach(async () => {
  webhooks = new WebhookTable(scratch.store);
  events = new EventTable(scratch.store, (...appended) => webhooks.enqueue(...appended));
  tables = openStorageTables(scratch.store, scratch.folder, events);
  await add('folder.txt', 'folder0', ...Array.from({ length: COUNT }, (_, index) => `folder/${index}`));
});

async function add(...paths: readonly string[]): Promise<void> {
  const at = START.toISOString();
  await scratch.store.transaction(() => {
    for (const path of paths)
      tables.files.put({
        organizationId: 'lab',
        path,
        contentType: 'text/plain',
        content: EMPTY,
        segments: [],
        at,
        acl: ACL,
      });
  });
}

afterEach(() => void vi.restoreAllMocks());

const all = (files: readonly FileRow[]) => files;
const remove = (choose = all) => tables.files.remove('lab', 'folder', choose, START);
const left = (): readonly string[] => tables.files.from('lab', '', 1_000).map(({ path }) => path);

/** Files that are left after each transaction that deletes some. */
function watchTransactions(failAt = Infinity): number[] {
  const counts: number[] = [];
  const freeing = scratch.store.freeing.bind(scratch.store);
  vi.spyOn(scratch.store, 'freeing').mockImplementation(async (work) => {
    if (counts.length === failAt) throw new Error('The server was killed.');
    const result = await freeing(work);
    counts.push(left().length);
    return result;
  });
  return counts;
}

describe('the deletion of a folder', () => {
  it('deletes a bounded number of files in each transaction, and nothing beside the folder', async () => {
    const counts = watchTransactions();
    const removed = await remove();
    expect(removed.map(({ path }) => path)).toHaveLength(COUNT);
    expect(new Set(removed.map(({ id }) => id)).size).toBe(COUNT);
    expect(counts).toEqual([COUNT - GROUP + 2, COUNT - 2 * GROUP + 2, 2]);
    expect(left()).toEqual(['folder.txt', 'folder0']);
    expect(tables.usage.get('lab').fileCount).toBe(2);
    expect(removed.flatMap(({ id }) => events.after(id, 1).map(({ type }) => type))).toEqual(
      Array.from({ length: COUNT }, () => 'file.deleted'),
    );
  });

  it('leaves whole files after a failure in the middle, and a repeat deletes the rest', async () => {
    watchTransactions(1);
    await expect(remove()).rejects.toThrow('killed');
    expect(left()).toHaveLength(COUNT - GROUP + 2);
    expect(tables.usage.get('lab').fileCount).toBe(COUNT - GROUP + 2);
    vi.restoreAllMocks();
    expect(await remove()).toHaveLength(COUNT - GROUP);
    expect(await remove()).toEqual([]);
    expect(left()).toEqual(['folder.txt', 'folder0']);
  });

  it('is refused before the first deletion, even if only the last file is forbidden', async () => {
    const last = `folder/${COUNT - 1}`;
    const refusing = (files: readonly FileRow[]): readonly FileRow[] => {
      if (files.some(({ path }) => path === last)) throw new Error('forbidden');
      return files;
    };
    await expect(remove(refusing)).rejects.toThrow('forbidden');
    expect(left()).toHaveLength(COUNT + 2);
  });

  it('spares files that are added meanwhile, and counts none that another request deleted', async () => {
    const both = await Promise.all([remove(), remove(), add('folder/new')]);
    const ids = [...both[0], ...both[1]].map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([COUNT, COUNT]);
    expect(left()).toEqual(['folder.txt', 'folder/new', 'folder0']);
  });

  it('reads the webhook endpoints once for each transaction', async () => {
    const at = START.toISOString();
    const endpoint = { organizationId: 'lab', url: 'https://lab.example', secrets: [], createdAt: at };
    const eventTypes = ['file.deleted'];
    await webhooks.addEndpoint({ ...endpoint, id: 'whe_a', eventTypes, updatedAt: at }, 10);
    const table: object = scratch.store.table('webhook-endpoints');
    const reads = vi.spyOn(Object.getPrototypeOf(table) as WebhookRows, 'getRange');
    await remove();
    const names = reads.mock.contexts.map((context) => (context as { readonly name?: string }).name);
    expect(names.filter((name) => name === 'webhook-endpoints')).toHaveLength(3);
    expect(webhooks.deliveries('lab', {}, 1_000).deliveries).toHaveLength(COUNT);
  });
});
