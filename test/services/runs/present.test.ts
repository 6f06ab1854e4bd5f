// @module-tag fast

import { expect, it } from 'vitest';
import { RUN_PAGE_MAX_BYTES, RUN_WAIT_MAX_SECONDS } from '#src/limits.js';
import { Pages } from '#src/services/pages.js';
import { preferenceApplied, resultPage, waitOf } from '#src/services/runs/present.js';
import type { RunRow, RunTable } from '#src/store/tables/runs.js';

it.each([
  [undefined, undefined],
  ['', undefined],
  ['return=minimal', undefined],
  ['respond-async', 0],
  ['wait=0', 0],
  ['wait=5', 5],
  ['WAIT = "5"', 5],
  ['respond-async, wait=5', 5],
  ['wait=999999', RUN_WAIT_MAX_SECONDS],
  ['wait=-1', undefined],
  ['wait=1e3', undefined],
])('the preference %s is a wait of %s seconds', (prefer, seconds) => {
  expect(waitOf(prefer)).toBe(seconds);
});

it('only an applied preference is named', () => {
  expect(preferenceApplied('wait=999999', RUN_WAIT_MAX_SECONDS)).toEqual({
    'Preference-Applied': `wait=${RUN_WAIT_MAX_SECONDS}`,
  });
  expect(preferenceApplied('respond-async', 0)).toEqual({ 'Preference-Applied': 'respond-async' });
  expect(preferenceApplied('return=minimal', 60)).toEqual({});
});

it.each(['é', '蛋白', '\u{1F9EC}', 'plain', '"\\\u0001'])(
  'a page of rows with %j ends before 8 MiB in bytes, and the next one goes on behind it',
  async (text) => {
    const rows = Array.from({ length: 300 }, (_, at) => ({ at, note: text.repeat(48_000 / text.length) }));
    const blockAt = async () => ({ firstRow: 0, rows });
    const table = { rows: { blockAt } } as unknown as RunTable;
    const run = { id: 'run_1', organizationId: 'lab', rowCount: 300, status: 'completed' } as RunRow;
    const pages = new Pages(Buffer.alloc(32, 1));
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await resultPage(run, { limit: 1_000, ...(cursor && { cursor }) }, table, pages);
      const bytes = Buffer.byteLength(JSON.stringify(page));
      expect(bytes).toBeLessThanOrEqual(RUN_PAGE_MAX_BYTES);
      if (page.has_more) expect(bytes).toBeGreaterThan(RUN_PAGE_MAX_BYTES - 400_000);
      seen.push(...page.data);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(rows);
  },
);
