// @module-tag fast

import { describe, expect, it } from 'vitest';
import { IDEMPOTENCY_RETENTION_MS } from '#src/limits.js';
import { IdempotencyTable } from '#src/store/tables/idempotency.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

const NOW = new Date('2026-01-01T00:00:00.000Z');
const response = (body: string) => ({ status: 200, headers: {}, body });
const request = (scope: string, fingerprint: string, key = 'key') => ({ key, scope, fingerprint });
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
});
