// @module-tag fast

import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Metering } from '#src/services/billing/metering.js';
import type { RequestContext } from '#src/services/context.js';
import type { UsageEntry } from '#src/store/tables/usage.js';

const { signal } = new AbortController();
const contextOf = (requestId: string): RequestContext => ({
  requestId,
  organizationId: 'lab',
  keyId: 'key_1',
  signal,
  receivedAtMs: 0,
});

/** A stub ledger with the test's `write`, which records its entries. */
function ledger(write: () => Promise<void> = async () => undefined, requireRoom = () => undefined as void) {
  const written: (readonly UsageEntry[])[] = [];
  const record = async (entries: readonly UsageEntry[]): Promise<void> => {
    written.push(entries);
    await write();
  };
  const add = (entry: UsageEntry): void => void written.push([entry]);
  const metering = new Metering({ record, add, requireRoom }, () => new Date(0));
  const bill = (id: string) => metering.bill({ value: id }, contextOf(id));
  return { written, metering, bill };
}

describe('metering', () => {
  it('writes entries together after a delay', async () => {
    const { written, bill } = ledger();
    for (const id of ['a', 'b', 'c']) expect(bill(id)).toEqual({ value: id, billableUnits: 1 });
    expect(written).toEqual([]);
    for (let tries = 0; written.length === 0 && tries < 200; tries += 1) await pause(10);
    expect(written.map((entries) => entries.map(({ id }) => id))).toEqual([['a', 'b', 'c']]);
  });

  it('writes a thousand entries at once, without the delay', () => {
    const { written, bill } = ledger();
    for (let count = 0; count < 1_001; count += 1) bill(`req_${count}`);
    expect(written.map(({ length }) => length)).toEqual([1_000]);
  });

  it('is settled only when all pending entries are written', async () => {
    let end = (): void => undefined;
    const { metering, bill } = ledger(() => new Promise((resolve) => (end = resolve)));
    bill('a');
    let isSettled = false;
    const settling = metering.settle().then(() => (isSettled = true));
    await pause(5);
    expect(isSettled).toBe(false);
    end();
    await settling;
  });

  it('bills no call while the ledger cannot be written, and keeps earlier entries', async () => {
    let isFull = false;
    const requireRoom = (): void => {
      if (isFull) throw new Error('no space');
    };
    const { written, metering, bill } = ledger(async () => requireRoom(), requireRoom);
    bill('a');
    isFull = true;
    await metering.settle();
    expect(() => bill('b')).toThrow('no space');
    expect(() => bill('c')).toThrow('no space');
    isFull = false;
    await metering.settle();
    expect(written.at(-1)?.map(({ id }) => id)).toEqual(['a']);
    expect(bill('d').billableUnits).toBe(1);
  });
});
