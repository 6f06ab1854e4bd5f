import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { createClient } from '#src/clients/typescript/client.js';
import { checkContract } from '../tools/contract/checks.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

/* Tests every bound, method, credential and deletion of every public route against the real appliance. */

let small: SmallAppliance;
beforeAll(async () => {
  small = await startSmallAppliance();
});
afterAll(() => small.close());

it('every public route obeys the OpenAPI document, at and beyond its bounds', async () => {
  const apiKey = await small.keyOf('lab');
  const client = createClient({ url: small.url, key: apiKey });
  const query = { kind: 'protein_sequence', sequence: small.sequences[0] as string } as const;
  const answer = await client.call('homology.search', {
    body: {
      query,
      limit: 3,
      filter: { op: 'exists', field: 'organism' },
      evidence: 'pairwise_sequence_alignment',
    },
  });
  const run = await client.call('runs.create', {
    headers: { Prefer: 'wait=60' },
    body: { endpoint: 'homology.search', input: { query, limit: 2 } } as never,
  });
  const sql = await client.call('sql_credentials.create', { body: { name: 'checks' } });
  const { requests, faults } = await checkContract({
    origin: small.url,
    key: apiKey,
    sqlCredential: `${sql.data.sql_engine_user}:${sql.data.password}`,
    values: {
      sequence: [query.sequence],
      database: [DEMO_SLUG],
      field: ['organism'],
      receipt_id: [answer.receipt.id],
      run_id: [run.data.id],
      DatabaseReleaseID: [answer.database.release_id],
      Filter: [{ op: 'exists', field: 'organism' }],
      filter: [{ op: 'exists', field: 'organism' }],
      file_name: ['a.txt'],
      // Nothing listens at this address. The test only creates the endpoint.
      url: ['http://127.0.0.1:9/', `/v1/storage/files/fil_${'0'.repeat(24)}/a.txt`],
      endpoints: [{ 'homology.search': { unit_quantity: 1, call_quantity: 1 } }],
      statement: ['SELECT 1'],
    },
  });
  expect(faults).toEqual([]);
  expect(requests).toBeGreaterThan(2_000);
}, 300_000);
