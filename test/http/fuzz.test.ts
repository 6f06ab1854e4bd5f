// @module-tag long

import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzzContract } from '../tools/contract/fuzzer.js';
import { KEY, MANIFEST, serve, type Served } from '../tools/serve.js';
import { repetitions } from '../tools/suite/repetitions.js';

/**
 * Number of random requests. A night run may set more, as in GLOAMING_FUZZ_CASES=20000. The default keeps the test
 * short.
 */
const CASES = repetitions('GLOAMING_FUZZ_CASES', 2_000, 20_000);
const SEED = Number(process.env['GLOAMING_FUZZ_SEED'] ?? Date.now() % 2 ** 31);

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

it(`${CASES} random requests get what the OpenAPI document declares (seed ${SEED})`, async () => {
  const counts = await fuzzContract({
    origin: served.origin,
    key: KEY,
    sqlCredential: 'sql_one:secret',
    seed: SEED,
    cases: CASES,
  });
  // The fuzzer must have covered every operation with more than one kind of answer, or the test proves nothing.
  for (const id of MANIFEST.routes) {
    const statuses = [...counts.keys()]
      .filter((name) => name.startsWith(`${id} `))
      .map((name) => name.split(' ')[2]);
    expect(statuses.length, id).toBeGreaterThan(1);
  }
  expect([...counts.keys()].some((name) => name.startsWith('homology.search valid 200'))).toBe(true);
}, 120_000);
