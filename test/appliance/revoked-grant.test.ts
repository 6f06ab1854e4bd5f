import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { askSql, createCredential, type TestCredential } from '../tools/sql-client.js';

/*
 * Earlier outputs of a database stay readable after its grant ends: results, receipts, alignments, files. The server
 * computes, exports and shows nothing new from the database.
 */

let small: SmallAppliance;
let client: Client;
let credential: TestCredential;
let sequence: string;
let releaseId: string;
let targetSpaceId: string;
let receiptId: string;
let targetId: string;
let msaId: string;
let runId: string;
let batchId: string;

const now = { headers: { Prefer: 'wait=60' } };
const query = () => ({ kind: 'protein_sequence', sequence }) as const;

beforeAll(async () => {
  small = await startSmallAppliance();
  sequence = small.sequences[0];
  const apiKey = await small.keyOf('lab');
  client = createClient({ url: small.url, key: apiKey });
  credential = await createCredential(small, apiKey);
  await small.appliance.releases.share(DEMO_SLUG, ['lab']);
  const answer = await client.call('homology.search', {
    body: {
      query: query(),
      filter: { op: 'exists', field: 'organism' },
      limit: 3,
      evidence: 'pairwise_sequence_alignment',
    },
  });
  receiptId = answer.receipt.id;
  releaseId = answer.database.release_id;
  targetSpaceId = answer.database.target_space_id as string;
  targetId = answer.candidates[0].target.id;
  const msa = await client.call('sequences.msa.a3m.create', { body: { receipt_id: receiptId } });
  msaId = msa.data.id;
  const search = { endpoint: 'homology.search', input: { query: query(), limit: 2 } } as never;
  runId = (await client.call('runs.create', { ...now, body: search })).data.id;
  const batch = { endpoint: 'homology.batch_search', input: { queries: [{ sequence }], limit: 2 } } as never;
  batchId = (await client.call('runs.create', { ...now, body: batch })).data.id;
  await small.appliance.releases.share(DEMO_SLUG, ['rival']);
});
afterAll(() => small.close());

const exported = (id: string) =>
  client.call('runs.create', {
    ...now,
    body: { endpoint: 'homology.export', input: { run_id: id, format: 'fasta' } } as never,
  });

describe('after the grant of a database has ended', () => {
  it('its earlier results stay readable', async () => {
    const params = { run_id: runId };
    expect((await client.call('runs.results.list', { params })).data).toHaveLength(2);
    expect((await client.call('runs.get', { params })).data.status).toBe('completed');
    const receipt = await client.call('receipts.get', { params: { receipt_id: receiptId } });
    expect(receipt.data.id).toBe(receiptId);
    const headers = { Authorization: `Bearer ${credential.apiKey}` };
    const msa = await fetch(`${small.url}/v1/sequences/msa/a3m/${msaId}`, { headers });
    expect(await msa.text()).toMatch(/^>query/);
    const rows = await askSql(
      small,
      credential,
      `SELECT target_id FROM candidates WHERE run_id = '${runId}'`,
    );
    expect(rows.rows).toHaveLength(2);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['searched by its target space', () => search({ target_space_id: targetSpaceId })],
    ['searched by its release', () => search({ database_release_id: releaseId })],
    ['exported from a run', () => exported(runId)],
    ['exported from a batch', () => exported(batchId)],
    ['aligned', () => client.call('sequences.msa.a3m.create', { body: { receipt_id: receiptId } })],
    [
      'placed into an alignment',
      () =>
        client.call('sequences.msa.components.create', {
          body: { receipt_id: receiptId, target_id: targetId },
        }),
    ],
    [
      'aligned by a run',
      () =>
        client.call('runs.create', {
          body: { endpoint: 'sequences.msa.build', input: { receipt_id: receiptId } } as never,
        }),
    ],
  ])('nothing of it is %s', async (_what, attempt) => {
    await expect(attempt()).rejects.toMatchObject({ status: 403, code: 'permission_denied' });
  });

  it('its rows disappear from SQL', async () => {
    for (const table of ['targets', 'attributes', 'releases', 'databases']) {
      expect((await askSql(small, credential, `SELECT * FROM ${table}`)).rows, table).toEqual([]);
    }
    expect((await askSql(small, credential, `SELECT * FROM ${DEMO_SLUG}.targets`)).status).toBe(422);
  });

  it('all of it returns when the grant is renewed', async () => {
    await small.appliance.releases.share(DEMO_SLUG, ['lab', 'rival']);
    expect((await exported(runId)).data.status).toBe('completed');
    await search({ target_space_id: targetSpaceId });
  });
});

function search(more: object): Promise<unknown> {
  return client.call('homology.search', { body: { query: query(), ...more } });
}
