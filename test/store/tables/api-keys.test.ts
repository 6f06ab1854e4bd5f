// @module-tag fast

import { describe, expect, it } from 'vitest';
import { ApiKeyTable, type ApiKeyRow } from '#src/store/tables/api-keys.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

function key(id: string, more: Partial<ApiKeyRow> = {}): ApiKeyRow {
  return {
    id: `key_${id}`,
    short: `short${id}`,
    sha256: id.repeat(64),
    organizationId: 'lab',
    name: id,
    scope: 'manage',
    createdAt: '2026-01-01T00:00:00.000Z',
    isDemo: false,
    ...more,
  };
}

describe('an API key', () => {
  it('is found by its short part', async () => {
    const table = new ApiKeyTable(scratch.store);
    expect(await table.add(key('a'))).toBe(true);
    expect(table.findByShort('shorta')).toEqual(key('a'));
    expect(table.findByShort('short')).toBeUndefined();
  });

  it('whose prefix is in use is not added, and does not change the other key', async () => {
    const table = new ApiKeyTable(scratch.store);
    await table.add(key('a'));
    expect(await table.add(key('b', { short: 'shorta' }))).toBe(false);
    expect(table.list()).toEqual([key('a')]);
  });

  it('is revoked once, and keeps the time of its revocation', async () => {
    const table = new ApiKeyTable(scratch.store);
    await table.add(key('a'));
    await table.add(key('b', { isDemo: true }));
    const isDemo = (row: ApiKeyRow): boolean => row.isDemo;
    expect((await table.revoke(isDemo, '2026-01-02T00:00:00.000Z')).map(({ id }) => id)).toEqual(['key_b']);
    expect(await table.revoke(isDemo, '2026-01-03T00:00:00.000Z')).toEqual([]);
    expect(table.list().map(({ revokedAt }) => revokedAt)).toEqual([undefined, '2026-01-02T00:00:00.000Z']);
  });
});
