import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { openMsaTables, type MsaTables } from '#src/store/tables/msas.js';
import { openObjects, type Objects } from '#src/store/objects/objects.js';

const BOUNDS = { componentCount: 2, msaCount: 3, msaBytes: 100 };

let folder: string;
let store: ControlStore;
let objects: Objects;
let tables: MsaTables<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-msas-'));
  store = openControlStore(folder);
  objects = openObjects(store, folder);
  tables = openMsaTables(store, objects, BOUNDS);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

let second = 0;
async function keep(id: string, text: string, organization = 'lab'): Promise<void> {
  const received = await objects.receive(bytesOf(text), Infinity);
  const { sha256, sizeBytes } = received;
  const content = { manifest: id, sha256, sizeBytes, jsonBytes: sizeBytes + 2 };
  second += 1;
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  await tables.msas.keep({ id, createdAt, content }, received, organization);
}

async function read(id: string): Promise<string | undefined> {
  const opened = tables.msas.open(id);
  if (opened === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.bytes) chunks.push(chunk);
  opened.close();
  return Buffer.concat(chunks).toString();
}

describe('kept alignments', () => {
  it('are read as they came, and belong to all who made them', async () => {
    await keep('a', '>query\nMK\n');
    await keep('a', '>query\nMK\n', 'rivals');
    expect(tables.msas.get('a')).toMatchObject({ organizationIds: ['lab', 'rivals'] });
    expect(await read('a')).toBe('>query\nMK\n');
    expect(await read('b')).toBeUndefined();
  });

  it('give way from the oldest on, by count and by bytes; text that another one shares stays', async () => {
    await keep('a', 'shared');
    await keep('b', 'of b');
    await keep('c', 'shared');
    await keep('d', 'of d');
    await objects.collect();
    expect(tables.msas.get('a')).toBeUndefined();
    expect(await read('c')).toBe('shared');
    await keep('e', 'x'.repeat(95));
    await objects.collect();
    expect([await read('b'), await read('c'), await read('d')]).toEqual([undefined, undefined, 'of d']);
  });

  it('are read to their end although they go meanwhile', async () => {
    await keep('a', 'of a');
    const opened = tables.msas.open('a');
    for (const id of ['b', 'c', 'd']) await keep(id, `of ${id}`);
    await objects.collect();
    expect(tables.msas.get('a')).toBeUndefined();
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened?.bytes ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('of a');
    opened?.close();
  });

  it('are counted again by the next server', async () => {
    for (const id of ['a', 'b', 'c']) await keep(id, id);
    tables = openMsaTables(store, objects, BOUNDS);
    await keep('d', 'd');
    expect([tables.msas.get('a'), tables.msas.get('b')?.id]).toEqual([undefined, 'b']);
  });
});

describe('kept components', () => {
  it('are written once and give way from the oldest on', async () => {
    for (const [at, id] of ['a', 'b', 'a', 'c'].entries()) {
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
      await tables.components.keep({ id, createdAt, content: id }, 'lab');
    }
    expect(['a', 'b', 'c'].map((id) => tables.components.get(id)?.content)).toEqual([undefined, 'b', 'c']);
  });
});
