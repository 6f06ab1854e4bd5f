// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { Engines } from '#src/engine/engines.js';
import type { Release } from '#src/release/release.js';
import type { RequestContext } from '#src/services/context.js';
import type { Catalog } from '#src/services/search/catalog.js';
import { createTargetSpaces } from '#src/services/search/target-spaces.js';
import type { TargetSpaceTable } from '#src/store/tables/target-spaces.js';
import { fieldsOf, filteredRelease } from '../../release/filter/filter-table.js';

/* Filters of a release whose attributes take a tenth of a millisecond each. */

const TARGETS = 1_000;
const { targets, lineage } = filteredRelease(
  Array.from({ length: TARGETS }, (_, index) => ({ name: `protein ${index}` })),
);
const fields = fieldsOf({ name: 'string' });
const table = { put: () => Promise.resolve() } as unknown as TargetSpaceTable;

function scene() {
  let reads = 0;
  const attribute = (index: number, field: string) => {
    for (const endMs = performance.now() + 0.1; performance.now() < endMs;);
    reads += 1;
    return targets.attribute(index, field);
  };
  const release = {
    id: `dbr_${'0'.repeat(64)}`,
    fields,
    lineage,
    manifest: { filter_schema: { id: 'fsch_1', fields: [] } },
    targets: { ...targets, attribute },
  } as unknown as Release;
  const spaces = createTargetSpaces({ table, catalog: {} as Catalog, engines: {} as Engines });
  const find = (value: string, signal?: AbortSignal) =>
    spaces.ofFilter(release, { op: 'contains', field: 'name', value }, { signal } as RequestContext);
  return { spaces, release, find, reads: () => reads };
}

describe('the evaluation of a filter', () => {
  it('lets other requests run, and gives the space that an evaluation without a pause gives', async () => {
    const { spaces, release, find } = scene();
    let rounds = 0;
    const ticking = setInterval(() => (rounds += 1), 0);
    const space = await find('7');
    clearInterval(ticking);
    expect(rounds).toBeGreaterThan(3);
    expect(space.searchedTargetCount).toBe(271);
    expect(scene().spaces.reopen(release, space.canonicalFilter)).toEqual(space);
    expect(spaces.reopen(release, space.canonicalFilter)).toBe(space);
  });

  it('ends when the request is aborted, and the next one starts it again', async () => {
    const { find, reads } = scene();
    const controller = new AbortController();
    const left = new Error('The client has left.');
    setTimeout(() => controller.abort(left), 10);
    await expect(find('7', controller.signal)).rejects.toBe(left);
    expect(reads()).toBeLessThan(TARGETS);
    expect((await find('7')).searchedTargetCount).toBe(271);
  });

  it('happens once for equal filters, and not at all for a request that was aborted while it waited', async () => {
    const { find, reads } = scene();
    const controller = new AbortController();
    const waiting = find('8', controller.signal).catch((error: unknown) => error);
    const equal = [find('7'), find('7'), find('7')];
    const left = new Error('The client has left.');
    controller.abort(left);
    expect(await waiting).toBe(left);
    expect(new Set(await Promise.all(equal)).size).toBe(1);
    expect(reads()).toBe(TARGETS);
  });
});
