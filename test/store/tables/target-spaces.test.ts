// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { TargetSpaceTable } from '#src/store/tables/target-spaces.js';

const space = {
  id: `htsp_${'0'.repeat(64)}`,
  databaseReleaseId: `dbr_${'1'.repeat(64)}`,
  canonicalFilter: { op: 'eq', field: 'organism', value: 'Escherichia coli' },
  filterSchemaId: `fsch_${'2'.repeat(64)}`,
};

describe('stored target spaces', () => {
  let folder: string;
  let store: ControlStore;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-target-spaces-'));
    store = openControlStore(folder);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('returns a space to the organization that made it, also after a restart', async () => {
    await new TargetSpaceTable(store).put(space, 'org_a');
    await store.close();
    store = openControlStore(folder);
    expect(new TargetSpaceTable(store).find(space.id, 'org_a')).toEqual({ status: 'found', space });
  });

  it('distinguishes a space of other organizations from an unknown one', async () => {
    const spaces = new TargetSpaceTable(store);
    await spaces.put(space, 'org_a');
    expect(spaces.find(space.id, 'org_b')).toEqual({ status: 'forbidden' });
    expect(spaces.find(`htsp_${'9'.repeat(64)}`, 'org_b')).toEqual({ status: 'unknown' });
  });

  it('is seen by every organization that made it, under one id', async () => {
    const spaces = new TargetSpaceTable(store);
    await Promise.all(['org_b', 'org_a', 'org_b'].map((organization) => spaces.put(space, organization)));
    expect(spaces.find(space.id, 'org_a').status).toBe('found');
    expect(spaces.find(space.id, 'org_b').status).toBe('found');
  });

  it('writes nothing when the same space is put again', async () => {
    const spaces = new TargetSpaceTable(store);
    await spaces.put(space, 'org_a');
    const before = store.commitNumber();
    await spaces.put(space, 'org_a');
    expect(store.commitNumber()).toBe(before);
    await spaces.put(space, 'org_b');
    expect(store.commitNumber()).toBeGreaterThan(before);
  });

  it('are refused beyond a count and a number of bytes of each organization; the stored ones work on', async () => {
    const spaceOf = (digit: string, value: string) => ({
      ...space,
      id: `htsp_${digit.repeat(64)}`,
      canonicalFilter: { op: 'eq', field: 'organism', value },
    });
    const bytes = 3 * JSON.stringify(space.canonicalFilter).length;
    const quota = { code: 'storage_quota_exceeded' };
    const first = new TargetSpaceTable(store, { count: 2, bytes });
    await Promise.all([first.put(space, 'org_a'), first.put(space, 'org_a')]);
    await expect(first.put(spaceOf('1', 'x'.repeat(2 * bytes)), 'org_a')).rejects.toMatchObject(quota);
    await first.put(spaceOf('2', 'x'), 'org_a');
    await store.close();
    store = openControlStore(folder);
    const second = new TargetSpaceTable(store, { count: 2, bytes });
    await expect(second.put(spaceOf('3', 'x'), 'org_a')).rejects.toMatchObject(quota);
    expect(second.find(spaceOf('3', 'x').id, 'org_a').status).toBe('unknown');
    await second.put(space, 'org_a');
    expect(second.find(space.id, 'org_a').status).toBe('found');
    await second.put(spaceOf('3', 'x'), 'org_b');
    expect(second.find(spaceOf('3', 'x').id, 'org_b').status).toBe('found');
  });
});
