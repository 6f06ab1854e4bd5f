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

  it('is not evicted for another organization that has more, also after a restart', async () => {
    const first = new ReceiptTable(scratch.store, { maxCount: 6 });
    await first.persist(receipt('small', 1), 'small');
    for (let at = 2; at < 20; at += 1) await first.persist(receipt(`a${at}`, at), 'greedy');
    const second = new ReceiptTable(scratch.store, { maxCount: 6 });
    for (let at = 20; at < 30; at += 1) await second.persist(receipt(`a${at}`, at), 'greedy');
    expect(second.get('rcpt_small')).toBeDefined();
    expect([24, 25, 29].map((at) => second.get(`rcpt_a${at}`) !== undefined)).toEqual([false, true, true]);
    await second.persist(receipt('newcomer', 30), 'newcomer');
    expect([25, 26].map((at) => second.get(`rcpt_a${at}`) !== undefined)).toEqual([false, true]);
  });

  it('is not evicted for another organization that has more bytes', async () => {
    const table = new ReceiptTable(scratch.store, { maxBytes: 100 });
    for (const at of [1, 2, 3, 4]) await table.persist(receipt(`s${at}`, at), 'small');
    for (const at of [5, 6, 7]) await table.persist({ ...receipt(`g${at}`, at), bytes: 45 }, 'greedy');
    const stored = ['s1', 's2', 's3', 's4', 'g5', 'g6', 'g7'].filter((id) => table.get(`rcpt_${id}`));
    expect(stored).toEqual(['s1', 's2', 's3', 's4', 'g7']);
  });

  it('of several organizations stays for those that have not lost it', async () => {
    const table = new ReceiptTable(scratch.store, { maxCount: 4 });
    await table.persist(receipt('shared', 1), 'greedy');
    await table.persist(receipt('shared', 2), 'small');
    for (const at of [3, 4, 5]) await table.persist(receipt(`g${at}`, at), 'greedy');
    expect(table.get('rcpt_shared')?.organizationIds).toEqual(['small']);
    expect(table.isRecent('rcpt_shared', 'greedy')).toBe(false);
    expect(table.isRecent('rcpt_shared', 'small')).toBe(true);
  });

  it('is not evicted by its own transaction, even if the clock was set back', async () => {
    const table = new ReceiptTable(scratch.store, { maxCount: 2 });
    for (const at of [5, 6, 1]) await table.persist(receipt(`r${at}`, at), 'lab');
    expect([5, 6, 1].map((at) => table.get(`rcpt_r${at}`) !== undefined)).toEqual([false, true, true]);
  });
});

describe('receipts of an earlier version', () => {
  /** Receipts as a version before `receipts-by-organization` stored them. */
  function storeEarlier(seconds: readonly number[]): void {
    for (const second of seconds) {
      const row = receipt(`e${second}`, second);
      scratch.store.table('receipts').putSync(row.id, { ...row, organizationIds: ['old', 'other'] });
      scratch.store.table('receipts-by-age').putSync(`${row.createdAt} ${row.id}`, row.id);
      scratch.store.table('receipts-sizes').putSync(row.id, row.bytes);
    }
  }
  const storedOf = (table: ReceiptTable, ids: readonly string[]) =>
    ids.filter((id) => table.get(`rcpt_${id}`) !== undefined);

  it('count, and are evicted before those of organizations with fewer', async () => {
    storeEarlier([1, 2, 3, 4]);
    const table = new ReceiptTable(scratch.store, { maxBytes: 50 });
    for (const at of [5, 6, 7]) await table.persist(receipt(`n${at}`, at), 'lab');
    expect(storedOf(table, ['e1', 'e2', 'e3', 'e4', 'n5', 'n6', 'n7'])).toEqual([
      'e3',
      'e4',
      'n5',
      'n6',
      'n7',
    ]);
    expect([...scratch.store.table('receipts-sizes').getKeys()]).toEqual(['rcpt_e3', 'rcpt_e4']);
  });

  it('become those of their organizations when a further one makes them', async () => {
    storeEarlier([1, 2]);
    const table = new ReceiptTable(scratch.store, { maxCount: 4 });
    await table.persist(receipt('e1', 3), 'lab');
    expect(table.get('rcpt_e1')?.organizationIds).toEqual(['lab', 'old', 'other']);
    for (const at of [4, 5, 6, 7]) await table.persist(receipt(`n${at}`, at), 'lab');
    expect(storedOf(table, ['e1', 'e2', 'n4', 'n5', 'n6', 'n7'])).toEqual(['e1', 'e2', 'n7']);
    expect(table.get('rcpt_e1')?.organizationIds).toEqual(['old', 'other']);
    expect(storedOf(new ReceiptTable(scratch.store), ['e1', 'e2'])).toEqual(['e1', 'e2']);
  });
});
