// @module-tag long

import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { createClient } from '#src/clients/typescript/client.js';
import { fuzzContract } from '../tools/contract/fuzzer.js';
import { createCredential } from '../tools/sql-client.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { repetitions } from '../tools/suite/repetitions.js';

/* Runs the contract fuzzer against the real appliance: services, kernels, encoder and control state. */

const CASES = repetitions('GLOAMING_FUZZ_CASES', 600, 20_000);
const SEED = Number(process.env['GLOAMING_FUZZ_SEED'] ?? Date.now() % 2 ** 31);

let small: SmallAppliance;
beforeAll(async () => {
  small = await startSmallAppliance();
});
afterAll(() => small.close());

it(`twice ${CASES} random requests get responses that the OpenAPI document declares (seed ${SEED})`, async () => {
  const key = await small.keyOf('lab');
  const sequences = small.sequences.slice(0, 3);
  const client = createClient({ url: small.url, key });
  const answer = await client.call('homology.search', {
    body: {
      query: { kind: 'protein_sequence', sequence: sequences[0] as string },
      filter: { op: 'exists', field: 'organism' },
    },
  });
  const credential = await createCredential(small, key);
  const options = {
    origin: small.url,
    key,
    sqlCredential: `${credential.user}:${credential.password}`,
    seed: SEED,
    cases: CASES,
    values: {
      sequence: sequences,
      database: [DEMO_SLUG, answer.database.id],
      database_release_id: [answer.database.release_id],
      DatabaseReleaseID: [answer.database.release_id],
      target_space_id: [answer.database.target_space_id],
      receipt_id: [answer.receipt.id],
      sql: ['FROM databases', 'SELECT $1', 'SELECT 1; SELECT 2', 'SELEC'],
      field: ['organism', 'reviewed'],
      value: ['true'],
      filter: [{ op: 'exists', field: 'organism' }],
      query_range: [{ start: 0, end: 20 }],
      // The database has no calibration, so that E-values are refused. JSON leaves an undefined member out.
      database_size: [undefined],
      probability: ['if_available'],
      significance: ['if_available'],
      evidence: ['pairwise_sequence_alignment'],
      Filter: [{ op: 'eq', field: 'reviewed', value: 'true' }],
    },
  };
  await fuzzContract(options);
  const operations = ['homology.search', 'homology.target_space_compilations.create', 'receipts.get'];
  const counts = await fuzzContract({ ...options, operations });
  const succeeded = new Set(
    [...counts.keys()].filter((name) => / valid 20\d$/.test(name)).map((name) => name.split(' ')[0]),
  );
  expect([...succeeded].sort()).toEqual(operations);
}, 300_000);
