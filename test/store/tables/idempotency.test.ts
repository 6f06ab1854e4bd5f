// @module-tag fast

import { describe, expect, it } from 'vitest';
import { IDEMPOTENCY_RETENTION_MS } from '#src/limits.js';
import { IdempotencyTable } from '#src/store/tables/idempotency.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

const NOW = new Date('2026-01-01T00:00:00.000Z');
const response = (body: string) => ({ status: 200, headers: {}, body });
const request = (scope: string, fingerprint: string, key = 'key', organizationId = 'lab') => ({
  organizationId,
  key,
  scope,
  fingerprint,
});
const later = (ms: number): Date => new Date(NOW.getTime() + ms);

describe('a claim', () => {
  it('of a key with a stored response returns that response, until it expires', async () => {
    const table = new IdempotencyTable(scratch.store);
    await (await table.claim(request('scope', 'print'), NOW)).persist(response('one'), NOW);
    const reopened = new IdempotencyTable(scratch.store);
    const last = later(IDEMPOTENCY_RETENTION_MS - 1);
    expect((await reopened.claim(request('scope', 'print'), last)).stored).toEqual(response('one'));
    const over = later(IDEMPOTENCY_RETENTION_MS);
    expect((await reopened.claim(request('scope', 'print'), over)).stored).toBeUndefined();
  });

  it('opens the response with its own key only', async () => {
    const table = new IdempotencyTable(scratch.store);
    await (await table.claim(request('scope', 'print'), NOW)).persist(response('one'), NOW);
    const guess = table.claim(request('scope', 'print', 'guess'), NOW);
    await expect(guess).rejects.toThrow('cannot be opened');
    const rows = scratch.store.bytes('idempotency-responses');
    const sealed = Buffer.from(rows.get('scope')!);
    for (const at of [0, 12, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      rows.putSync('scope', changed);
      await expect(table.claim(request('scope', 'print'), NOW)).rejects.toThrow('cannot be opened');
    }
  });

  it('has no response if the transaction that stored it is rolled back', async () => {
    const table = new IdempotencyTable(scratch.store);
    const claim = await table.claim(request('scope', 'print'), NOW);
    const failing = scratch.store.transaction(() => {
      claim.put(response('one'), NOW);
      throw new Error('the change failed');
    });
    await expect(failing).rejects.toThrow('the change failed');
    claim.release();
    expect((await table.claim(request('scope', 'print'), NOW)).stored).toBeUndefined();
  });

  it('is refused while an equal request runs, and allowed once that is released', async () => {
    const table = new IdempotencyTable(scratch.store);
    const first = await table.claim(request('scope', 'print'), NOW);
    await expect(table.claim(request('scope', 'print'), NOW)).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    first.release();
    expect((await table.claim(request('scope', 'print'), NOW)).stored).toBeUndefined();
  });

  it('for another request is refused, whether the first one runs or has a response', async () => {
    const table = new IdempotencyTable(scratch.store);
    const refusal = { code: 'idempotency_key_reused' };
    const first = await table.claim(request('scope', 'print'), NOW);
    await expect(table.claim(request('scope', 'other'), NOW)).rejects.toMatchObject(refusal);
    await first.persist(response('one'), NOW);
    first.release();
    await expect(table.claim(request('scope', 'other'), NOW)).rejects.toMatchObject(refusal);
  });

  it('is refused at the bound of bytes, and allowed again once an older response has expired', async () => {
    const table = new IdempotencyTable(scratch.store, { maxResponses: 10, maxBytes: 3 });
    await (await table.claim(request('old', 'print'), NOW)).persist(response('åb'), NOW);
    const refused = { code: 'idempotency_storage_full' };
    await expect(table.claim(request('scope', 'print'), NOW)).rejects.toMatchObject(refused);
    await expect(table.claim(request('scope', 'other'), NOW)).rejects.toMatchObject(refused);
    const over = later(IDEMPOTENCY_RETENTION_MS + 1);
    await (await table.claim(request('scope', 'print'), over)).persist(response('c'), over);
    expect(scratch.store.table('idempotency-usage').get('usage')).toEqual({ responses: 1, bytes: 1 });
    expect([...scratch.store.table('idempotency').getKeys()]).toEqual(['scope']);
  });

  it('of one organization is refused at its share, and those of others are not', async () => {
    const bounds = { maxResponses: 20, maxBytes: 1_000 };
    const store = async (table: IdempotencyTable, organizationId: string, at: number, now = NOW) => {
      const claim = await table.claim(request(`${organizationId}${at}`, 'print', 'key', organizationId), now);
      await claim.persist(response('x'), now);
    };
    const first = new IdempotencyTable(scratch.store, bounds);
    for (let at = 0; at < 18; at += 1) await store(first, 'greedy', at);
    const reopened = new IdempotencyTable(scratch.store, bounds);
    const refused = { code: 'idempotency_storage_full' };
    await expect(store(reopened, 'greedy', 18)).rejects.toMatchObject(refused);
    for (const at of [0, 1]) await store(reopened, 'modest', at);
    await expect(store(reopened, 'modest', 2)).rejects.toMatchObject(refused);
    const over = later(IDEMPOTENCY_RETENTION_MS + 1);
    for (let at = 0; at < 8; at += 1) await store(reopened, 'greedy', 20 + at, over);
    const usage = scratch.store.table('idempotency-usage');
    expect(usage.get('usage greedy')).toEqual({ responses: 8, bytes: 8 });
    expect(usage.get('usage modest')).toBeUndefined();
  });

  it('of one organization is refused at its share of bytes', async () => {
    const table = new IdempotencyTable(scratch.store, { maxResponses: 1_000, maxBytes: 100 });
    const greedy = await table.claim(request('greedy', 'print', 'key', 'greedy'), NOW);
    await greedy.persist(response('x'.repeat(90)), NOW);
    const second = table.claim(request('second', 'print', 'key', 'greedy'), NOW);
    await expect(second).rejects.toMatchObject({ code: 'idempotency_storage_full' });
    expect((await table.claim(request('modest', 'print', 'key', 'modest'), NOW)).stored).toBeUndefined();
  });

  it('is not refused for responses of an earlier version, which name no organization and expire', async () => {
    const table = new IdempotencyTable(scratch.store, { maxResponses: 2, maxBytes: 100 });
    await (await table.claim(request('old', 'print'), NOW)).persist(response('x'), NOW);
    const rows = scratch.store.table<Record<string, unknown>>('idempotency');
    const { organizationId: _, ...earlier } = rows.get('old')!;
    rows.putSync('old', earlier);
    scratch.store.table('idempotency-usage').removeSync('usage lab');
    expect((await table.claim(request('old', 'print'), NOW)).stored).toEqual(response('x'));
    const over = later(IDEMPOTENCY_RETENTION_MS + 1);
    await (await table.claim(request('new', 'print'), over)).persist(response('y'), over);
    const usage = Object.fromEntries(
      [...scratch.store.table('idempotency-usage').getRange()].map(({ key, value }) => [key, value]),
    );
    expect(usage).toEqual({ usage: { responses: 1, bytes: 1 }, 'usage lab': { responses: 1, bytes: 1 } });
  });
});
