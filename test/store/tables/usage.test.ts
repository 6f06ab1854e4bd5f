// @module-tag fast

import { describe, expect, it } from 'vitest';
import { UsageTable, type UsageEntry } from '#src/store/tables/usage.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

function entry(id: string, units = 1, organizationId = 'lab'): UsageEntry {
  const createdAt = '2026-01-01T00:00:00.000Z';
  return { id, organizationId, endpoint: 'homology.search', units, formulaId: 'f', createdAt };
}

describe('the ledger', () => {
  it('adds up calls and units for each organization and endpoint', async () => {
    const table = new UsageTable(scratch.store);
    await table.record([entry('a', 2), entry('b', 3), entry('c', 5, 'rival')]);
    await table.record([{ ...entry('d', 7), endpoint: 'homology.batch_search' }]);
    expect(table.totals('lab', 'homology.search')).toEqual({ calls: 2, units: 5 });
    expect(table.totals('lab', 'homology.batch_search')).toEqual({ calls: 1, units: 7 });
    expect(table.totals('rival', 'homology.search')).toEqual({ calls: 1, units: 5 });
    expect(table.totals('unused', 'homology.search')).toEqual({ calls: 0, units: 0 });
  });

  it('counts an entry once, in one batch or in two', async () => {
    const table = new UsageTable(scratch.store);
    await table.record([entry('a', 2), entry('a', 2)]);
    await table.record([entry('a', 2)]);
    expect(table.totals('lab', 'homology.search')).toEqual({ calls: 1, units: 2 });
    expect(table.count('lab')).toBe(1);
  });

  it('numbers the entries of an organization from 0, in the order of their arrival', async () => {
    const table = new UsageTable(scratch.store);
    await table.record([entry('z'), entry('x', 1, 'rival'), entry('b')]);
    await table.record([entry('a'), entry('y', 1, 'lab2')]);
    expect(table.count('lab')).toBe(3);
    expect(table.list('lab', 0, 10).map(({ id }) => id)).toEqual(['z', 'b', 'a']);
    expect(table.list('lab', 1, 1).map(({ id }) => id)).toEqual(['b']);
  });

  it('has no entry of a failed transaction', async () => {
    const table = new UsageTable(scratch.store);
    const failing = scratch.store.transaction(() => {
      table.add(entry('a'));
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(table.totals('lab', 'homology.search')).toEqual({ calls: 0, units: 0 });
    expect(table.count('lab')).toBe(0);
  });
});
