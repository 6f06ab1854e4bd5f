// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlStore } from '#src/store/control-store.js';
import { SECRET_KEY_FILE } from '#src/store/secret-key.js';
import { sealingKey } from '#src/store/secrets.js';
import { IdempotencyTable } from '#src/store/tables/idempotency.js';
import { WebhookTable } from '#src/store/tables/webhooks.js';

const ENDPOINT = {
  id: 'whe_a',
  organizationId: 'lab',
  url: 'https://receiver.example/',
  eventTypes: ['run.completed'],
  secrets: [{ secret: 'whsec_c2VjcmV0' }],
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const NOW = new Date('2026-01-01T00:00:00.000Z');
const ASKED = { organizationId: 'lab', key: 'key', scope: 'scope', fingerprint: 'print' };

let folder: string;
let path: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-key-'));
  path = join(folder, SECRET_KEY_FILE);
  const store = openControlStore(folder);
  await new WebhookTable(store).addEndpoint(ENDPOINT, 1);
  await sealingKey(store);
  const answer = { status: 200, headers: { a: 'b' }, body: 'the\nanswer' };
  await (await new IdempotencyTable(store).claim(ASKED, NOW)).persist(answer, NOW);
  await store.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the key of an appliance', () => {
  it('opens sealed values in the next process, and is stored in a separate file', async () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const control = readFileSync(join(folder, 'control', 'data.mdb'));
    for (const secret of ['whsec_', 'the\nanswer', readFileSync(path, 'utf8').trim()]) {
      expect(control.includes(secret)).toBe(false);
    }
    const store = openControlStore(folder);
    expect(new WebhookTable(store).endpoint('whe_a')).toEqual(ENDPOINT);
    const { stored } = await new IdempotencyTable(store).claim(ASKED, NOW);
    expect(stored).toEqual({ status: 200, headers: { a: 'b' }, body: 'the\nanswer' });
    await store.close();
  });

  it('that is missing or wrong ends the start with one sentence and changes nothing', async () => {
    const key = readFileSync(path);
    const refusal = { code: 'secret_key_missing', message: expect.stringContaining(path) };
    for (const text of ['not a key', `${Buffer.alloc(32).toString('base64')}\n`]) {
      writeFileSync(path, text);
      expect(() => openControlStore(folder)).toThrow(expect.objectContaining(refusal));
    }
    rmSync(path);
    expect(() => openControlStore(folder)).toThrow(expect.objectContaining(refusal));
    writeFileSync(path, key);
    const store = openControlStore(folder);
    expect(new WebhookTable(store).endpoint('whe_a')).toEqual(ENDPOINT);
    await store.close();
  });

  it('is replaced after an empty file: endpoints stay, without their secrets', async () => {
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, '');
    const store = openControlStore(folder);
    expect(readFileSync(path, 'utf8')).toHaveLength(before.length);
    expect(readFileSync(path, 'utf8')).not.toBe(before);
    const webhooks = new WebhookTable(store);
    expect(webhooks.endpoint('whe_a')).toEqual({ ...ENDPOINT, secrets: [] });
    await webhooks.changeEndpoint('whe_a', { secrets: [{ secret: 'whsec_bmV3' }] }, () => undefined);
    expect((await new IdempotencyTable(store).claim(ASKED, NOW)).stored).toBeUndefined();
    expect(await sealingKey(store)).toHaveLength(32);
    await store.close();
    const again = openControlStore(folder);
    expect(new WebhookTable(again).endpoint('whe_a')?.secrets).toEqual([{ secret: 'whsec_bmV3' }]);
    await again.close();
  });
});
