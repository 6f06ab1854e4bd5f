import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import type { Route } from '#src/contract/grammar/route.js';
import { handlersOf } from '#src/http/handlers.js';
import type { Handlers } from '#src/http/handler.js';
import { backup } from '#src/services/backup/backup.js';
import { CONTROL_FOLDER } from '#src/store/prepare.js';
import { SECRET_KEY_FILE } from '#src/store/secret-key.js';
import { sealingKey } from '#src/store/secrets.js';
import { UsageTable } from '#src/store/tables/usage.js';
import { serve, type Served } from '../../tools/serve.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';
import { ask, putPart, type Answer, type Json } from '../storage/storage-served.js';

/* Every POST on a server that fails after the operation's commits and before its response; then the retry. */

/** Tables that a POST may add rows to. */
const TABLES = [
  'files',
  'msa-components',
  'msas',
  'receipts',
  'runs',
  'sql-credentials',
  'target-spaces',
  'uploads',
  'webhook-endpoints',
];

/** Objects that the requests name. */
interface Scene {
  readonly sequence: string;
  readonly releaseId: string;
  readonly receiptId: string;
  readonly targetId: string;
  readonly endpointId: string;
  readonly deliveryId: string;
  readonly credentialId: string;
  readonly runId: string;
  /** Uploads with a part; the part of the second one is acknowledged. */
  readonly uploadIds: readonly [string, string];
  readonly fileUrl: string;
}

interface Request {
  readonly path: string;
  readonly body?: Json;
  readonly authorization?: string;
}

const REQUESTS: Readonly<Record<string, (scene: Scene) => Request>> = {
  'homology.search': ({ sequence }) => ({
    path: '/v1/homology',
    body: { query: { kind: 'protein_sequence', sequence }, limit: 3 },
  }),
  'homology.target_space_compilations.create': ({ releaseId }) => ({
    path: '/v1/homology/target-space-compilations',
    body: { DatabaseReleaseID: releaseId, Filter: { op: 'exists', field: 'organism' } },
  }),
  'models.pricing.estimate': () => ({
    path: '/v1/models/pricing/estimate',
    body: { endpoints: { 'homology.search': { unit_quantity: 2 } }, estimate_type: 'unit_price' },
  }),
  'refs.resolve': ({ targetId }) => ({ path: '/v1/refs/resolve', body: { query: targetId } }),
  'runs.create': ({ sequence }) => ({
    path: '/v1/runs',
    body: { endpoint: 'homology.search', input: { query: { kind: 'protein_sequence', sequence }, limit: 3 } },
  }),
  'runs.cancel': ({ runId }) => ({ path: `/v1/runs/${runId}/cancel` }),
  'webhooks.endpoints.create': () => ({
    path: '/v1/webhooks/endpoints',
    body: { url: 'http://127.0.0.1:9/' },
  }),
  'webhooks.endpoints.rotate_secret': ({ endpointId }) => ({
    path: `/v1/webhooks/endpoints/${endpointId}/rotate-secret`,
  }),
  'webhooks.deliveries.redeliver': ({ deliveryId }) => ({
    path: `/v1/webhooks/deliveries/${deliveryId}/redeliver`,
  }),
  'sequences.msa.components.create': ({ receiptId, targetId }) => ({
    path: '/v1/sequences/msa/components',
    body: { receipt_id: receiptId, target_id: targetId },
  }),
  'sequences.msa.a3m.create': ({ receiptId }) => ({
    path: '/v1/sequences/msa/a3m',
    body: { receipt_id: receiptId },
  }),
  'storage.uploads.create': () => ({
    path: '/v1/storage/uploads',
    body: { file_name: 'new.bin', size_bytes: 3 },
  }),
  'storage.uploads.part_urls.create': ({ uploadIds: [id] }) => ({
    path: `/v1/storage/uploads/${id}/part-urls`,
    body: { part_numbers: [1] },
  }),
  'storage.uploads.parts.acknowledge': ({ uploadIds: [id] }) => ({
    path: `/v1/storage/uploads/${id}/parts/1/acknowledge`,
    body: {},
  }),
  'storage.uploads.complete': ({ uploadIds: [, id] }) => ({ path: `/v1/storage/uploads/${id}/complete` }),
  'storage.file_signed_urls.create': ({ fileUrl }) => ({
    path: `/v1/storage/file-signed-urls?url=${encodeURIComponent(new URL(fileUrl).pathname)}`,
    body: {},
  }),
  'sql_credentials.create': () => ({ path: '/v1/sql-credentials', body: { name: 'new' } }),
  'sql_credentials.rotate': ({ credentialId }) => ({ path: `/v1/sql-credentials/${credentialId}/rotate` }),
};
/** Values in a response that grant access or can sign. */
const SECRETS = /"(?:secret|password)":"([^"]+)"|signature=([\w-]+)/g;
/** Operations that only read rows, with another kind of key. */
const READS_ONLY = ['sql.query'];

const POSTS = Object.values<Route>(ROUTES).filter(({ method }) => method === 'POST');

let small: SmallAppliance;
let served: Served;
let key: string;
let scene: Scene;
/** Whether operations fail after all of their work. */
let isDying = false;
/** Secrets in all responses. */
const secrets = new Set<string>();

beforeAll(async () => {
  small = await startSmallAppliance();
  const { appliance } = small;
  key = await small.keyOf('lab');
  scene = await setScene();
  served = await serve({
    store: appliance.store,
    handlers: dying(handlersOf(appliance)),
    authenticate: (apiKey) => appliance.keys.authenticate(apiKey),
    authenticateUrl: (request) => appliance.storage.authenticateUrl(request),
  });
});
afterAll(async () => {
  await served.close();
  await small.close();
});

function dying(handlers: Handlers): Handlers {
  const wrapped = Object.entries(handlers).map(([id, handler]) => {
    const run = handler as (input: unknown, context: unknown) => Promise<unknown>;
    const runAndDie = async (input: unknown, context: unknown): Promise<unknown> => {
      const reply = await run(input, context);
      if (isDying) throw new Error('the server dies here');
      return reply;
    };
    return [id, runAndDie] as const;
  });
  return Object.fromEntries(wrapped) as unknown as Handlers;
}

async function setScene(): Promise<Scene> {
  const call = async (method: string, path: string, body?: Json, headers = {}): Promise<Json> => {
    const answer = await ask(small.url + path, method, key, body, headers);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body.data ?? answer.body;
  };
  const [sequence] = small.sequences as [string];
  const query = { kind: 'protein_sequence', sequence };
  const search = { query, evidence: 'pairwise_sequence_alignment', limit: 3 };
  const searched = await call('POST', '/v1/homology', search);
  // No server listens at this address, so its deliveries stay pending.
  const endpoint = await call('POST', '/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  const uploads: string[] = [];
  for (const name of ['sent', 'acknowledged', 'kept']) {
    const { id } = await call('POST', '/v1/storage/uploads', { file_name: name, size_bytes: 3 });
    const { urls } = await call('POST', `/v1/storage/uploads/${id}/part-urls`, { part_numbers: [1] });
    expect((await putPart(urls[0].url, Buffer.from('abc'))).status).toBe(200);
    if (name !== 'sent') await call('POST', `/v1/storage/uploads/${id}/parts/1/acknowledge`, {});
    uploads.push(id);
  }
  const file = await call('POST', `/v1/storage/uploads/${uploads[2]}/complete`);
  const credential = await call('POST', '/v1/sql-credentials', { name: 'notebook' });
  const run = { endpoint: 'homology.search', input: { query, limit: 3 }, background: true };
  const runId = (await call('POST', '/v1/runs', run)).id as string;
  await ask(`${small.url}/v1/runs/${runId}/cancel`, 'POST', key);
  const deliveries = await ask(`${small.url}/v1/webhooks/deliveries`, 'GET', key);
  return {
    sequence,
    releaseId: searched.database.release_id,
    receiptId: searched.receipt.id,
    targetId: searched.candidates[0].target.id,
    endpointId: endpoint.id,
    deliveryId: deliveries.body.data.at(-1).id,
    credentialId: credential.sql_credential.id,
    runId,
    uploadIds: [uploads[0]!, uploads[1]!],
    fileUrl: file.url,
  };
}

async function post(id: string): Promise<Answer & { readonly text: string }> {
  const { path, body } = REQUESTS[id]!(scene);
  const answer = await ask(served.origin + path, 'POST', key, body, { 'Idempotency-Key': `key of ${id}` });
  for (const [, given, signature] of JSON.stringify(answer.body).matchAll(SECRETS))
    secrets.add(given ?? signature!);
  return { ...answer, text: JSON.stringify(answer.body) };
}

async function countRows(): Promise<Readonly<Record<string, number>>> {
  const { metering, store } = small.appliance;
  // The cost of the scene's unkeyed requests is written with a delay.
  await metering.settle();
  const searches = new UsageTable(store).list('lab', 0, 1_000).filter(({ id }) => id.startsWith('req_'));
  const counts = TABLES.map((name) => [name, store.table(name).getKeysCount()] as const);
  return { ...Object.fromEntries(counts), searches: searches.length };
}

describe('the POSTs of the contract', () => {
  it('all state why a retry is safe, and all are tested here', () => {
    expect(POSTS.filter(({ retry }) => retry === undefined)).toEqual([]);
    const tried = [...Object.keys(REQUESTS), ...READS_ONLY].sort();
    expect(tried).toEqual(POSTS.map(({ operationId }) => operationId).sort());
  });
});

/** Requests that are billed themselves. */
const BILLED = new Set(['homology.search', 'sequences.msa.a3m.create']);

describe('a keyed request whose server failed before its response', () => {
  for (const id of Object.keys(REQUESTS)) {
    it(`to ${id} returns the result of the first request, or runs as a first request`, async () => {
      const before = await countRows();
      isDying = true;
      const first = await post(id);
      isDying = false;
      expect(first.status).toBe(500);
      const between = await countRows();
      const second = await post(id);
      expect(second.status, second.text).toBeLessThan(300);
      const after = await countRows();
      const third = await post(id);
      expect(third.text).toBe(second.text);
      expect(third.headers.get('Idempotent-Replayed')).toBe('true');
      expect(await countRows()).toEqual(after);
      if (BILLED.has(id)) {
        // Billed with the first response. Objects that it named exist, or are made again with the same id.
        expect(between.searches).toBe(before.searches);
        expect(after).toEqual({ ...between, searches: before.searches! + 1 });
        return;
      }
      expect(after).toEqual(between);
      const isStored = POSTS.find(({ operationId }) => operationId === id)?.retry === 'stored';
      expect(second.headers.get('Idempotent-Replayed')).toBe(isStored ? 'true' : null);
      if (isStored) expect(second.headers.get('X-Request-ID')).toBe(first.headers.get('X-Request-ID'));
    });
  }
});

describe('a secret in a response', () => {
  it('is in plain text neither in the control state nor in a backup', async () => {
    expect(secrets.size).toBe(6);
    const folders = small.appliance.config;
    const { dataFolder } = folders;
    const target = mkdtempSync(join(tmpdir(), 'gloaming-secrets-'));
    await backup({ folders, target, now: new Date() });
    const sealing = await sealingKey(small.appliance.store);
    const masterKey = readFileSync(join(dataFolder, SECRET_KEY_FILE), 'utf8').trim();
    const hidden = [...secrets, sealing.toString('base64'), masterKey].flatMap((text) => [
      Buffer.from(text),
      Buffer.from(text.replace(/^(whsec|gls)_/, ''), 'base64'),
    ]);
    const places = [join(dataFolder, CONTROL_FOLDER), target].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name)),
    );
    expect(places.length).toBeGreaterThan(5);
    for (const place of places) {
      const bytes = readFileSync(place);
      expect(hidden.filter((secret) => bytes.includes(secret)).map(String), place).toEqual([]);
    }
    rmSync(target, { recursive: true });
  });
});
