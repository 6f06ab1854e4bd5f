// @module-tag fast

import { beforeEach, describe, expect, it } from 'vitest';
import { openMsaTables, type MsaTables } from '#src/store/tables/msas.js';
import { openObjects, type Objects } from '#src/store/objects/objects.js';
import { useScratchStore } from '../scratch-store.js';

const BOUNDS = { components: { maxCount: 2 }, msas: { maxCount: 3, maxBytes: 100 } };

const scratch = useScratchStore();
let objects: Objects;
let tables: MsaTables<string, string>;

beforeEach(() => {
  objects = openObjects(scratch.store, scratch.folder);
  tables = openMsaTables(scratch.store, objects, BOUNDS);
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

let second = 0;
async function persist(id: string, text: string, organization = 'lab'): Promise<void> {
  const received = await objects.receive(bytesOf(text), Infinity);
  const { sha256, sizeBytes } = received;
  const content = { manifest: id, sha256, sizeBytes, jsonBytes: sizeBytes + 2 };
  second += 1;
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  await tables.msas.persist({ id, createdAt, content }, received, organization);
}

async function read(id: string): Promise<string | undefined> {
  const opened = tables.msas.open(id);
  if (opened === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.bytes) chunks.push(chunk);
  opened.close();
  return Buffer.concat(chunks).toString();
}

describe('stored alignments', () => {
  it('are read unchanged, and belong to every organization that made them', async () => {
    await persist('a', '>query\nMK\n');
    await persist('a', '>query\nMK\n', 'rivals');
    expect(tables.msas.get('a')).toMatchObject({ organizationIds: ['lab', 'rivals'] });
    expect(await read('a')).toBe('>query\nMK\n');
    expect(await read('b')).toBeUndefined();
  });

  it('of visitors without a key evict only those of such visitors', async () => {
    const msas = { maxCount: 9, maxBytes: 1_000, openMaxCount: 2, openMaxBytes: 40 };
    tables = openMsaTables(scratch.store, objects, { msas });
    await persist('lab', 'of the lab');
    for (const id of ['a', 'b', 'c', 'd']) await persist(id, `of ${id}`, 'console-open');
    expect(['lab', 'a', 'b', 'c', 'd'].map((id) => tables.msas.get(id) !== undefined)).toEqual([
      ...[true, false, false, true, true],
    ]);
    await persist('e', 'x'.repeat(30), 'console-open');
    await persist('f', 'y'.repeat(30), 'console-open');
    expect(['lab', 'd', 'e', 'f'].map((id) => tables.msas.get(id) !== undefined)).toEqual([
      ...[true, false, false, true],
    ]);
  });

  it('are evicted from the oldest on, by count and by bytes; shared text stays', async () => {
    await persist('a', 'shared');
    await persist('b', 'of b');
    await persist('c', 'shared');
    await persist('d', 'of d');
    await objects.collect();
    expect(tables.msas.get('a')).toBeUndefined();
    expect(await read('c')).toBe('shared');
    await persist('e', 'x'.repeat(95));
    await objects.collect();
    expect([await read('b'), await read('c'), await read('d')]).toEqual([undefined, undefined, 'of d']);
  });

  it('are read to their end even if they are evicted meanwhile', async () => {
    await persist('a', 'of a');
    const opened = tables.msas.open('a');
    for (const id of ['b', 'c', 'd']) await persist(id, `of ${id}`);
    await objects.collect();
    expect(tables.msas.get('a')).toBeUndefined();
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened?.bytes ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('of a');
    opened?.close();
  });

  it.each([
    ['too many', 'x'],
    ['too large', 'x'.repeat(40)],
  ])('stay where those with which they would have been %s were refused', async (_name, text) => {
    await persist('a', 'of a');
    scratch.isRefusing = true;
    for (const id of ['b', 'c', 'd', 'e']) await expect(persist(id, text)).rejects.toThrow('refused');
    scratch.isRefusing = false;
    await persist('f', 'of f');
    await persist('g', 'of g');
    expect([await read('a'), await read('f'), await read('g')]).toEqual(['of a', 'of f', 'of g']);
    await persist('h', 'x'.repeat(95));
    expect(['a', 'f', 'g', 'h'].map((id) => tables.msas.get(id) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it('stay if the alignment that would evict them is refused, and are evicted by the next one', async () => {
    for (const id of ['a', 'b', 'c']) await persist(id, id);
    scratch.isRefusing = true;
    await expect(persist('d', 'x'.repeat(60))).rejects.toThrow('refused');
    scratch.isRefusing = false;
    expect(['a', 'b', 'c'].map((id) => tables.msas.get(id)?.id)).toEqual(['a', 'b', 'c']);
    await persist('e', 'x'.repeat(40));
    expect(['a', 'b', 'c', 'e'].map((id) => tables.msas.get(id)?.id)).toEqual([undefined, 'b', 'c', 'e']);
  });

  it('are not evicted for another organization that has more, in count or in bytes', async () => {
    await persist('a', 'of a', 'small');
    for (const id of ['b', 'c', 'd', 'e', 'f']) await persist(id, `of ${id}`, 'greedy');
    expect(['a', 'd', 'e', 'f'].map((id) => tables.msas.get(id) !== undefined)).toEqual([
      ...[true, false, true, true],
    ]);
    await persist('g', 'x'.repeat(90), 'greedy');
    expect(await read('a')).toBe('of a');
    tables = openMsaTables(scratch.store, objects, BOUNDS);
    for (const id of ['h', 'i', 'j']) await persist(id, `of ${id}`, 'greedy');
    expect(await read('a')).toBe('of a');
  });

  it('of several organizations stay for those that have not lost them', async () => {
    tables = openMsaTables(scratch.store, objects, { msas: { maxCount: 4 } });
    await persist('a', 'shared', 'greedy');
    await persist('a', 'shared', 'small');
    for (const id of ['b', 'c', 'd']) await persist(id, `of ${id}`, 'greedy');
    await objects.collect();
    expect(tables.msas.get('a')?.organizationIds).toEqual(['small']);
    expect(await read('a')).toBe('shared');
  });

  it('have their bytes although they are evicted while another organization makes them', async () => {
    await persist('a', 'of a');
    const received = await objects.receive(bytesOf('of a'), Infinity);
    const { sha256, sizeBytes } = received;
    const evictThenDiscard = async () => {
      for (const id of ['b', 'c', 'd']) await persist(id, `of ${id}`);
      await objects.collect();
      await received.discard();
    };
    const row = {
      id: 'a',
      createdAt: '2026-02-01T00:00:00.000Z',
      content: { manifest: 'a', sha256, sizeBytes, jsonBytes: 6 },
    };
    await tables.msas.persist(row, { ...received, discard: evictThenDiscard }, 'rivals');
    await objects.collect();
    expect(tables.msas.get('a')?.organizationIds).toEqual(['rivals']);
    expect(await read('a')).toBe('of a');
  });

  it('of an earlier version count, and are evicted before those of organizations with fewer', async () => {
    await persist('a', 'of a');
    await persist('b', 'of b');
    for (const { key } of [...scratch.store.table('msas-by-organization').getRange()]) {
      scratch.store.table('msas-by-organization').removeSync(key);
      scratch.store.table('msas-by-age').putSync(key.slice(key.indexOf(' ') + 1), 4);
    }
    tables = openMsaTables(scratch.store, objects, { msas: { maxCount: 2 } });
    await persist('c', 'of c');
    await objects.collect();
    expect([await read('a'), await read('b'), await read('c')]).toEqual([undefined, 'of b', 'of c']);
    tables = openMsaTables(scratch.store, objects);
    await persist('b', 'of b', 'rivals');
    expect(tables.msas.get('b')?.organizationIds).toEqual(['lab', 'rivals']);
    expect([...scratch.store.table('msas-by-age').getKeys()]).toEqual([]);
  });

  it('are counted again by the next server', async () => {
    for (const id of ['a', 'b', 'c']) await persist(id, id);
    tables = openMsaTables(scratch.store, objects, BOUNDS);
    await persist('d', 'd');
    expect([tables.msas.get('a'), tables.msas.get('b')?.id]).toEqual([undefined, 'b']);
  });
});

describe('stored components', () => {
  it('of several organizations count for each and stay for those that have not lost them', async () => {
    tables = openMsaTables(scratch.store, objects, { components: { maxCount: 4 } });
    const place = (id: string, at: number, organization: string) => {
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
      return tables.components.persist({ id, createdAt, content: id }, organization);
    };
    await place('shared', 1, 'greedy');
    await place('shared', 2, 'small');
    for (const at of [3, 4, 5, 6, 7]) await place(`g${at}`, at, 'greedy');
    expect(tables.components.get('shared')?.organizationIds).toEqual(['small']);
    expect([4, 5, 6, 7].map((at) => tables.components.get(`g${at}`) !== undefined)).toEqual([
      ...[false, true, true, true],
    ]);
  });

  it('are written once and evicted from the oldest on', async () => {
    for (const [at, id] of ['a', 'b', 'a', 'c'].entries()) {
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
      await tables.components.persist({ id, createdAt, content: id }, 'lab');
    }
    expect(['a', 'b', 'c'].map((id) => tables.components.get(id)?.content)).toEqual([undefined, 'b', 'c']);
  });
});
