// @module-tag fast

import { describe, expect, it } from 'vitest';
import { ReceiptTable } from '#src/store/tables/receipts.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

function receipt(id: string, second: number) {
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  return { id: `rcpt_${id}`, createdAt, content: { id }, bytes: 10 };
}

describe('a receipt', () => {
  it('is stored once, with every organization whose search made it', async () => {
    const table = new ReceiptTable(scratch.store);
    await table.persist(receipt('a', 1), 'rival');
    await table.persist(receipt('a', 2), 'lab');
    const before = scratch.store.commitNumber();
    await table.persist(receipt('a', 3), 'lab');
    expect(scratch.store.commitNumber()).toBe(before);
    expect(table.get('rcpt_a')).toEqual({ ...receipt('a', 1), organizationIds: ['lab', 'rival'] });
  });

  it('counts as recently stored for its organization only, in this process', async () => {
    const table = new ReceiptTable(scratch.store);
    await table.persist(receipt('a', 1), 'lab');
    expect(table.isRecent('rcpt_a', 'lab')).toBe(true);
    expect(table.isRecent('rcpt_a', 'rival')).toBe(false);
    expect(new ReceiptTable(scratch.store).isRecent('rcpt_a', 'lab')).toBe(false);
  });

  it('is evicted when it is the oldest of too many, also after a restart', async () => {
    const first = new ReceiptTable(scratch.store, { maxCount: 2 });
    await first.persist(receipt('a', 2), 'lab');
    await first.persist(receipt('b', 1), 'lab');
    const second = new ReceiptTable(scratch.store, { maxCount: 2 });
    await second.persist(receipt('c', 3), 'lab');
    expect(['a', 'b', 'c'].map((id) => second.get(`rcpt_${id}`) !== undefined)).toEqual([true, false, true]);
    expect(first.isRecent('rcpt_b', 'lab')).toBe(false);
  });

  it('is not evicted for a visitor without a key; the oldest receipts of such visitors are', async () => {
    const table = new ReceiptTable(scratch.store, { maxCount: 6, openMaxCount: 2 });
    await table.persist(receipt('lab', 1), 'lab');
    await table.persist(receipt('shared', 2), 'console-open');
    await table.persist(receipt('shared', 2), 'lab');
    for (let at = 0; at < 20; at += 1) await table.persist(receipt(`v${at}`, 3 + at), 'console-open');
    const stored = ['lab', 'shared', 'v0', 'v17', 'v18', 'v19'].map(
      (id) => table.get(`rcpt_${id}`) !== undefined,
    );
    expect(stored).toEqual([true, true, false, false, true, true]);
    await table.persist(receipt('lab2', 40), 'lab');
    expect(table.get('rcpt_lab')).toBeDefined();
  });

  it('is evicted when it is the oldest of too many bytes, also after a restart; the newest stays', async () => {
    const sized = (id: string, second: number, bytes: number) => ({ ...receipt(id, second), bytes });
    const storedOf = (table: ReceiptTable) =>
      ['a', 'b', 'c', 'd'].filter((id) => table.get(`rcpt_${id}`) !== undefined).join('');
    const first = new ReceiptTable(scratch.store, { maxBytes: 25 });
    await first.persist(sized('a', 1, 10), 'lab');
    await first.persist(sized('b', 2, 15), 'lab');
    expect(storedOf(first)).toBe('ab');
    const second = new ReceiptTable(scratch.store, { maxBytes: 25 });
    await second.persist(sized('c', 3, 10), 'lab');
    expect(storedOf(second)).toBe('bc');
    await second.persist(sized('d', 4, 100), 'lab');
    expect(storedOf(second)).toBe('d');
    await second.persist(sized('a', 5, 25), 'lab');
    expect(storedOf(second)).toBe('a');
    await second.persist(sized('b', 6, 0), 'lab');
    expect(storedOf(second)).toBe('ab');
  });

  it('of a visitor without a key is evicted when such receipts have too many bytes', async () => {
    const table = new ReceiptTable(scratch.store, { openMaxBytes: 20 });
    await table.persist(receipt('lab', 1), 'lab');
    for (const at of [1, 2, 3]) await table.persist(receipt(`v${at}`, 1 + at), 'console-open');
    const stored = ['lab', 'v1', 'v2', 'v3'].map((id) => table.get(`rcpt_${id}`) !== undefined);
    expect(stored).toEqual([true, false, true, true]);
  });

  it('stays if the receipts that would evict it are refused', async () => {
    const table = new ReceiptTable(scratch.store, { maxCount: 2 });
    await table.persist(receipt('a', 1), 'lab');
    scratch.isRefusing = true;
    for (const id of ['b', 'c', 'd']) {
      await expect(table.persist(receipt(id, 2), 'lab')).rejects.toThrow('refused');
    }
    scratch.isRefusing = false;
    await table.persist(receipt('e', 3), 'lab');
    expect(['a', 'e'].map((id) => table.get(`rcpt_${id}`)?.id)).toEqual(['rcpt_a', 'rcpt_e']);
    await table.persist(receipt('f', 4), 'lab');
    expect(['a', 'e', 'f'].map((id) => table.get(`rcpt_${id}`) !== undefined)).toEqual([false, true, true]);
  });
});
