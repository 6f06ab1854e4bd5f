// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OPEN_ORGANIZATION } from '#src/limits.js';
import { Keys } from '#src/services/keys.js';
import { ApiKeyTable } from '#src/store/tables/api-keys.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';

let folder: string;
let store: ControlStore;
let keys: Keys;
let now: Date;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-keys-'));
  store = openControlStore(folder);
  now = new Date('2026-01-02T03:04:05Z');
  keys = new Keys(new ApiKeyTable(store), () => now);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

describe('API keys', () => {
  it('authenticate the organization they were made for', async () => {
    const { key, row } = await keys.create('pipeline', 'lab');
    expect(key).toMatch(/^glm_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/);
    expect(keys.authenticate(key)).toEqual({
      keyId: row.id,
      organizationId: 'lab',
      scope: 'manage',
    });
  });

  it('expire, and the refusal names the expiry', async () => {
    const expiresAt = '2026-01-02T03:04:06.000Z';
    const { key, row } = await keys.create('guest', 'lab', { scope: 'search', expiresAt });
    expect(keys.authenticate(key).scope).toBe('search');
    expect(keys.live(row.id)).toMatchObject({ expiresAt });
    now = new Date(expiresAt);
    expect(() => keys.authenticate(key)).toThrow(
      `The API key glm_${row.short}_… has expired on ${expiresAt}; "gloaming keys create" creates another.`,
    );
    expect(keys.live(row.id)).toBeUndefined();
  });

  it('record their last use, to the hour', async () => {
    const { key, row } = await keys.create('pipeline', 'lab');
    const lastUsed = () => keys.list().find(({ id }) => id === row.id)?.lastUsedAt;
    expect(lastUsed()).toBeUndefined();
    keys.authenticate(key);
    await expect.poll(lastUsed).toBe('2026-01-02T03:04:05.000Z');
    now = new Date('2026-01-02T04:00:00Z');
    keys.authenticate(key);
    await store.transaction(() => undefined);
    expect(lastUsed()).toBe('2026-01-02T03:04:05.000Z');
    now = new Date('2026-01-02T04:30:00Z');
    keys.authenticate(key);
    await expect.poll(lastUsed).toBe('2026-01-02T04:30:00.000Z');
  });

  it('are refused alike when malformed, mistyped, unknown or revoked', async () => {
    const { key, row } = await keys.create('pipeline', 'lab');
    const { key: other } = await keys.create('other', 'lab');
    await keys.revoke(row.id);
    const mistyped = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    const grafted = other.slice(0, 12) + key.slice(12);
    for (const wrong of ['', 'glm_', mistyped, grafted, key, `${other}x`, other.toLowerCase(), '\u0000']) {
      expect(() => keys.authenticate(wrong), JSON.stringify(wrong)).toThrow(/malformed, unknown or revoked/);
    }
    expect(keys.authenticate(other).organizationId).toBe('lab');
  });

  it('are refused for the organization of console visitors without a key', async () => {
    await expect(keys.create('pipeline', OPEN_ORGANIZATION)).rejects.toMatchObject({
      code: 'invalid_organization',
      message: expect.stringContaining('"console-open" is reserved'),
    });
    expect(keys.list()).toEqual([]);
  });

  it('are never in the store', async () => {
    const { key } = await keys.create('pipeline', 'lab');
    expect(JSON.stringify(keys.list())).not.toContain(key.slice(13));
  });

  it('report whether a valid demo key exists', async () => {
    await keys.create('pipeline', 'default');
    expect(keys.hasDemoKey()).toBe(false);
    const { row } = await keys.create('demo', 'default', { isDemo: true });
    expect(keys.hasDemoKey()).toBe(true);
    await keys.revoke(row.id);
    expect(keys.hasDemoKey()).toBe(false);
  });

  it('cannot be revoked twice or by an unknown name', async () => {
    const { row } = await keys.create('pipeline', 'lab');
    await keys.revoke(row.short);
    await expect(keys.revoke(row.short)).rejects.toThrow(/No live API key/);
    await expect(keys.revoke('key_none')).rejects.toThrow(/No live API key/);
  });
});
