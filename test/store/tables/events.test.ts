// @module-tag fast

import { describe, expect, it } from 'vitest';
import { EventTable, type EventRow } from '#src/store/tables/events.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

function event(subjectId: string, type: string): Omit<EventRow, 'id' | 'sequence'> {
  return { type, organizationId: 'lab', subjectId, timestamp: '2026-01-01T00:00:00.000Z', data: {} };
}

describe('events', () => {
  it('of a subject count from 1 without gaps, independent of other subjects', async () => {
    const table = new EventTable(scratch.store);
    await scratch.store.transaction(() => {
      // Eleven events, because a wrong order by text puts 10 before 9.
      for (let index = 1; index <= 11; index += 1) {
        table.append(event('run_a', `a${index}`));
        table.append(event('run_ab', `b${index}`));
      }
    });
    expect(table.after('run_a', 0).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 11 }, (_, index) => index + 1),
    );
    expect(table.after('run_a', 9).map(({ type }) => type)).toEqual(['a10', 'a11']);
  });

  it('are rolled back with their transaction, and so are their effects', async () => {
    const followed: string[] = [];
    const rows = scratch.store.table<string>('followed');
    const table = new EventTable(scratch.store, ({ type }) => {
      followed.push(type);
      rows.putSync(type, type);
    });
    const failing = scratch.store.transaction(() => {
      table.append(event('run_a', 'run.queued'));
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(followed).toEqual(['run.queued']);
    expect([...rows.getKeys()]).toEqual([]);
    expect(table.after('run_a', 0)).toEqual([]);
  });

  it('are dropped for one subject, which then counts from 1 again', async () => {
    const table = new EventTable(scratch.store);
    await scratch.store.transaction(() => {
      for (const subject of ['run_a', 'run_a', 'run_b']) table.append(event(subject, 'x'));
      table.drop('run_a');
      table.append(event('run_a', 'y'));
    });
    expect(table.after('run_a', 0).map(({ type, sequence }) => [type, sequence])).toEqual([['y', 1]]);
    expect(table.after('run_b', 0)).toHaveLength(1);
  });
});
