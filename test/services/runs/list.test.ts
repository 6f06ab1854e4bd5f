// @module-tag fast

import { expect, it, vi } from 'vitest';
import { RUN_PAGE_MAX_BYTES } from '#src/limits.js';
import { Pages } from '#src/services/pages.js';
import { Runs } from '#src/services/runs/runs.js';
import { RunTable } from '#src/store/tables/runs.js';
import { useScratchStore } from '../../store/scratch-store.js';
import { context } from './hands.js';

const scratch = useScratchStore();

/** Stores a finished run whose summary has this many characters. */
async function storeRun(table: RunTable, id: string, second: number, characters: number): Promise<void> {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  const run = { id, organizationId: 'lab', createdAt: at.toISOString(), endpoint: 'homology.search' };
  await table.create(run as never, Buffer.from('plan'));
  await table.claim(id, 'owner', at);
  await table.end(id, { to: 'completed', at, summarise: () => ({ hits: 'x'.repeat(characters) }) });
}

it('a page of runs ends before 8 MiB, has at least one run, and is continued by its cursor', async () => {
  const table = new RunTable(scratch.store);
  const sizes = { run_a: 3 << 20, run_b: 9 << 20, run_c: 3 << 20, run_d: 3 << 20 };
  for (const [at, [id, size]] of Object.entries(sizes).entries()) await storeRun(table, id, at, size);
  const pages = new Pages(Buffer.alloc(32, 1));
  const runs = new Runs({ table, pages, kinds: [], now: () => new Date(), concurrency: 1 } as never);
  const listed: string[][] = [];
  let cursor: string | undefined;
  do {
    const { value, json } = await runs.list({ limit: 100, ...(cursor && { cursor }) }, context());
    const text = JSON.stringify(value);
    expect(Buffer.concat(json ?? []).toString()).toBe(text);
    const bytes = Buffer.byteLength(text);
    if (value.data.length > 1) expect(bytes).toBeLessThanOrEqual(RUN_PAGE_MAX_BYTES);
    listed.push(value.data.map(({ id }) => id));
    cursor = value.next_cursor ?? undefined;
  } while (cursor !== undefined);
  expect(listed).toEqual([['run_d', 'run_c'], ['run_b'], ['run_a']]);
});

it('a page writes each of its runs once', async () => {
  const table = new RunTable(scratch.store);
  for (const [at, id] of ['run_a', 'run_b', 'run_c'].entries()) await storeRun(table, id, at, 100);
  const pages = new Pages(Buffer.alloc(32, 1));
  const runs = new Runs({ table, pages, kinds: [], now: () => new Date(), concurrency: 1 } as never);
  const stringify = vi.spyOn(JSON, 'stringify');
  try {
    await runs.list({ limit: 100 }, context());
    const written = stringify.mock.calls.flatMap(([value]) => (hasRun(value) ? [value.id] : []));
    expect(written).toEqual(['run_c', 'run_b', 'run_a']);
  } finally {
    stringify.mockRestore();
  }
});

function hasRun(value: unknown): value is { id: string } {
  return typeof value === 'object' && value !== null && 'object' in value && value.object === 'run';
}
