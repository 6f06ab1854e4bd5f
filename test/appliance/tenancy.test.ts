import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client, GloamingError } from '#src/clients/typescript/client.js';
import type { OperationId } from '#src/contract/document/routes.js';
import { recordedFetch } from '../tools/recorded.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { ROOT } from '../tools/paths.js';

/* Requests objects of one organization with the key of another, on every public route. */

interface Owned {
  readonly target_space_id: string;
  readonly receipt_id: string;
  readonly run_id: string;
  readonly endpoint_id: string;
  readonly delivery_id: string;
  readonly msa_id: string;
  readonly upload_id: string;
  readonly file_url: string;
  readonly credential_id: string;
  readonly sequence: string;
}

/** Requests that name an object of another organization. The requests of `shared` routes name no owned object. */
const ATTEMPTS: Readonly<Record<string, 'shared' | ((owned: Owned) => object)>> = {
  'homology.search': ({ target_space_id, sequence }) => ({
    body: { query: { kind: 'protein_sequence', sequence }, target_space_id },
  }),
  'homology.target_space_compilations.create': 'shared',
  'homology.databases.list': 'shared',
  'homology.databases.releases.list': 'shared',
  'receipts.get': ({ receipt_id }) => ({ params: { receipt_id } }),
  'models.pricing.estimate': 'shared',
  // Returns only what the key may see; services/refs.test.ts tests it.
  'refs.resolve': 'shared',
  'runs.create': ({ target_space_id, sequence }) => ({
    body: {
      endpoint: 'homology.search',
      input: { query: { kind: 'protein_sequence', sequence }, target_space_id },
    },
  }),
  'runs.list': 'shared',
  'runs.get': ({ run_id }) => ({ params: { run_id } }),
  'runs.cancel': ({ run_id }) => ({ params: { run_id } }),
  'runs.results.list': ({ run_id }) => ({ params: { run_id } }),
  'runs.events.stream': ({ run_id }) => ({ params: { run_id } }),
  'webhooks.endpoints.create': 'shared',
  'webhooks.endpoints.list': 'shared',
  'webhooks.endpoints.delete': ({ endpoint_id }) => ({ params: { endpoint_id } }),
  'webhooks.endpoints.rotate_secret': ({ endpoint_id }) => ({ params: { endpoint_id } }),
  'webhooks.deliveries.list': 'shared',
  'webhooks.deliveries.get': ({ delivery_id }) => ({ params: { delivery_id } }),
  'webhooks.deliveries.redeliver': ({ delivery_id }) => ({ params: { delivery_id } }),
  'sequences.msa.components.create': ({ receipt_id }) => ({ body: { receipt_id, target_id: 'any' } }),
  'sequences.msa.a3m.create': ({ receipt_id }) => ({ body: { receipt_id } }),
  'sequences.msa.a3m.get': ({ msa_id }) => ({ params: { a3m_object_id: msa_id } }),
  'storage.uploads.create': 'shared',
  'storage.uploads.get': ({ upload_id }) => ({ params: { upload_id } }),
  'storage.uploads.part_urls.create': ({ upload_id }) => ({
    params: { upload_id },
    body: { part_numbers: [1] },
  }),
  // Needs a signed URL, not a key; services/storage/uploads.test.ts tries other URLs.
  'storage.uploads.parts.put': 'shared',
  'storage.uploads.parts.acknowledge': ({ upload_id }) => ({
    params: { upload_id, part_number: '1' },
    body: {},
  }),
  'storage.uploads.complete': ({ upload_id }) => ({ params: { upload_id } }),
  'storage.uploads.abort': ({ upload_id }) => ({ params: { upload_id } }),
  'storage.files.read': ({ file_url }) => {
    const [file_id, file_name] = new URL(file_url).pathname.split('/').slice(-2);
    return { params: { file_id, file_name } };
  },
  'storage.file_signed_urls.create': ({ file_url }) => ({ query: { url: file_url }, body: {} }),
  'storage.files.acl.get': ({ file_url }) => ({ query: { url: file_url } }),
  'storage.files.acl.set': ({ file_url }) => ({
    query: { url: file_url },
    body: { default: 'allow', rules: [] },
  }),
  // Each organization has its own paths.
  'storage.files.delete': 'shared',
  'sql_credentials.create': 'shared',
  'sql_credentials.list': 'shared',
  'sql_credentials.rotate': ({ credential_id }) => ({ params: { credential_id } }),
  'sql_credentials.revoke': ({ credential_id }) => ({ params: { credential_id } }),
  // Needs a SQL credential, not a key; services/sql/sql.test.ts requests rows of other organizations.
  'sql.query': 'shared',
};

const listed = JSON.parse(readFileSync(join(ROOT, 'config/public-routes.json'), 'utf8')) as {
  readonly routes: readonly OperationId[];
};

let small: SmallAppliance;
let owner: Client;
let stranger: Client;
const answers = recordedFetch();
let strangerKey: string;
let owned: Owned;

beforeAll(async () => {
  small = await startSmallAppliance();
  strangerKey = await small.keyOf('strangers');
  owner = createClient({ url: small.url, key: await small.keyOf('owners') });
  stranger = createClient({ url: small.url, key: strangerKey, fetch: answers.fetch });
  const sequence = small.sequences[0] as string;
  const query = { kind: 'protein_sequence', sequence } as const;
  const answer = await owner.call('homology.search', {
    body: {
      query,
      filter: { op: 'exists', field: 'organism' },
      limit: 2,
      evidence: 'pairwise_sequence_alignment',
    },
  });
  const endpoint = await owner.call('webhooks.endpoints.create', {
    // Nothing listens at this address. The test is about access to the endpoint.
    body: { url: 'http://127.0.0.1:9/' },
  });
  const run = await owner.call('runs.create', {
    headers: { Prefer: 'wait=60' },
    body: { endpoint: 'homology.search', input: { query, limit: 2 } } as never,
  });
  const deliveries = await owner.call('webhooks.deliveries.list', {});
  const msa = await owner.call('sequences.msa.a3m.create', {
    body: { receipt_id: answer.receipt.id },
  });
  const credential = await owner.call('sql_credentials.create', { body: { name: 'notebook' } });
  const { upload_id, file_url } = await uploadFile(owner);
  owned = {
    msa_id: msa.data.id,
    upload_id,
    file_url,
    credential_id: credential.data.sql_credential.id,
    target_space_id: answer.database.target_space_id as string,
    receipt_id: answer.receipt.id,
    run_id: run.data.id,
    endpoint_id: endpoint.data.id,
    delivery_id: (deliveries.data[0] as { id: string }).id,
    sequence,
  };
});
afterAll(() => small.close());

async function uploadFile(client: Client) {
  const upload = await client.call('storage.uploads.create', {
    body: { file_name: 'a.txt', size_bytes: 5 },
  });
  const params = { upload_id: upload.data.id };
  const part = await client.call('storage.uploads.part_urls.create', {
    params,
    body: { part_numbers: [1] },
  });
  await fetch(part.data.urls[0]?.url as string, { method: 'PUT', body: 'hello' });
  await client.call('storage.uploads.parts.acknowledge', {
    params: { ...params, part_number: '1' },
    body: {},
  });
  const done = await client.call('storage.uploads.complete', { params });
  return { upload_id: upload.data.id, file_url: done.data.url as string };
}

describe('an object of one organization', () => {
  it('is requested by another organization on every public route', () => {
    expect(Object.keys(ATTEMPTS).sort()).toEqual([...listed.routes].sort());
  });

  it.each(listed.routes.filter((id) => ATTEMPTS[id] !== 'shared'))(
    'is refused on %s, without any detail of the object',
    async (id) => {
      const attempt = ATTEMPTS[id] as (of: Owned) => object;
      const failure = await stranger.call(id, attempt(owned) as never).then(
        () => expect.fail('it must be refused'),
        (error: unknown) => error as GloamingError,
      );
      expect(failure).toMatchObject({ status: 403, code: 'permission_denied' });
      // Neither the owner nor the kind of the object may show.
      expect(answers.last()).not.toMatch(/owners|organism|simulated/);
      expect(answers.last()).not.toContain(owned.sequence);
    },
  );

  it('is visible to its owner', async () => {
    const body = await owner.call('receipts.get', { params: { receipt_id: owned.receipt_id } });
    expect(body.data.id).toBe(owned.receipt_id);
    const run = await owner.call('runs.get', { params: { run_id: owned.run_id } });
    expect(run.data.id).toBe(owned.run_id);
  });

  it('is in no list of another organization', async () => {
    const body = await stranger.call('runs.list', {});
    expect(body.data).toEqual([]);
    const endpoints = await stranger.call('webhooks.endpoints.list', {});
    const deliveries = await stranger.call('webhooks.deliveries.list', {});
    expect([...endpoints.data, ...deliveries.data]).toEqual([]);
  });

  it('looks to another organization like an object that never existed', async () => {
    const id = `rcpt_${'0'.repeat(64)}`;
    await expect(stranger.call('receipts.get', { params: { receipt_id: id } })).rejects.toMatchObject({
      status: 404,
      code: 'receipt_not_found',
    });
  });
});
