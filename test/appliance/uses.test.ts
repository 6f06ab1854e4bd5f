import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '#src/clients/typescript/client.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { checkUses } from '../tools/contract/uses.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

let small: SmallAppliance;
beforeAll(async () => {
  small = await startSmallAppliance();
});
afterAll(() => small.close());

it('every created object is readable, owned by its creator, and gone after its deletion, on every route', async () => {
  const key = await small.keyOf('lab');
  const client = createClient({ url: small.url, key });
  const query = { kind: 'protein_sequence', sequence: small.sequences[0] as string } as const;
  const answer = await client.call('homology.search', {
    body: { query, limit: 3, evidence: 'pairwise_sequence_alignment' },
  });
  const sql = await client.call('sql_credentials.create', { body: { name: 'uses' } });
  const { requests, counts, faults } = await checkUses({
    origin: small.url,
    key,
    strangersKey: await small.keyOf('strangers'),
    sqlCredential: `${sql.data.sql_engine_user}:${sql.data.password}`,
    values: {
      sequence: [query.sequence],
      database: [DEMO_SLUG],
      receipt_id: [answer.receipt.id],
      target_id: [answer.candidates[0]?.target.id],
      DatabaseReleaseID: [answer.database.release_id],
      Filter: [{ op: 'exists', field: 'organism' }],
      file_name: ['a.txt'],
      url: ['http://127.0.0.1:9/'],
      endpoints: [{ 'homology.search': { unit_quantity: 1, call_quantity: 1 } }],
    },
  });
  expect(faults).toEqual([]);
  for (const check of [
    'ensure_resource_availability',
    'use_after_free',
    'namespace_rule',
    'resource_leakage',
    'information_leakage',
    'missing_required_header',
  ]) {
    expect(counts[check], check).toBeGreaterThan(2);
  }
  expect(requests).toBeGreaterThan(400);
}, 300_000);
