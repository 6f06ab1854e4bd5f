import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { buildDemo, DEMO_SLUG } from '#src/build/demo.js';
import { simulateProteins } from '#src/build/simulate.js';
import { serve, type RunningServer } from '#src/cli/serve.js';
import { loadConfig } from '#src/config.js';
import { fuzzContract } from './tools/contract-fuzzer.js';

/* The contract fuzzer against everything that is real: services, kernels, encoder, control state. */

const CASES = Number(process.env['GLOAMING_FUZZ_CASES'] ?? 600);
const SEED = Number(process.env['GLOAMING_FUZZ_SEED'] ?? Date.now() % 2 ** 31);

const folder = mkdtempSync(join(tmpdir(), 'gloaming-fuzz-'));
const demo = simulateProteins(11, 60);
let appliance: Appliance;
let server: RunningServer;
let key: string;

beforeAll(async () => {
  appliance = await openAppliance(
    loadConfig({
      GLOAMING_INDEXES: join(folder, 'indexes'),
      GLOAMING_DATA: join(folder, 'data'),
      GLOAMING_PORT: '0',
      GLOAMING_ENCODER: 'baseline-1',
    }),
  );
  const encoder = await appliance.loadEncoder('baseline-1');
  const { release } = await buildDemo(demo, encoder, appliance.config.indexesFolder);
  await encoder.close();
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({
    id: release.id,
    slug: DEMO_SLUG,
    publishedAt,
    manifest: release.manifest,
  });
  ({ key } = await appliance.keys.create('fuzz', 'lab'));
  server = await serve(appliance, pino({ level: 'silent' }), { isResponseChecked: true });
});
afterAll(async () => {
  await server.stop(2_000);
  await appliance.close();
  rmSync(folder, { recursive: true });
});

async function search(
  body: object,
): Promise<{ readonly database: Record<string, string>; readonly receipt: { readonly id: string } }> {
  const response = await fetch(`${server.url}/v1/homology`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as never;
}

it(`${CASES} random requests to a real database get what the OpenAPI document declares (seed ${SEED})`, async () => {
  const sequences = demo.proteins.slice(0, 3).map(({ sequence }) => sequence);
  const found = await search({
    query: { kind: 'protein_sequence', sequence: sequences[0] },
    filter: { op: 'exists', field: 'organism' },
  });
  const counts = await fuzzContract({
    origin: server.url,
    key,
    seed: SEED,
    cases: CASES,
    known: {
      sequence: sequences,
      database: [DEMO_SLUG, found.database['id']],
      database_release_id: [found.database['release_id']],
      DatabaseReleaseID: [found.database['release_id']],
      target_space_id: [found.database['target_space_id']],
      receipt_id: [found.receipt.id],
      field: ['organism', 'reviewed'],
      value: ['true'],
      op: ['exists'],
    },
  });
  const succeeded = new Set(
    [...counts.keys()].filter((name) => / valid 20\d$/.test(name)).map((name) => name.split(' ')[0]),
  );
  expect([...succeeded]).toEqual(
    expect.arrayContaining([
      'homology.search',
      'homology.target_space_compilations.create',
      'homology.databases.list',
      'homology.databases.releases.list',
      'receipts.get',
    ]),
  );
}, 300_000);
