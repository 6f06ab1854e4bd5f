// @module-tag fast

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalSha256 } from '#src/canonical.js';
import type { TargetSpaceCompilation } from '#src/contract/search/target-spaces.js';
import type { Reply } from '#src/services/reply.js';
import { expectSuccess, readResponse } from '../tools/expectations.js';
import { ROUTES } from '#src/contract/document/routes.js';
import { DIGEST_64, fakeHandlers, KEY, post, serve, type Served } from '../tools/serve.js';

const PATH = '/v1/homology/target-space-compilations';
const COMPILE = ROUTES['homology.target_space_compilations.create'];

interface Envelope {
  readonly provenance: Readonly<Record<string, unknown>>;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly warnings: readonly unknown[];
}

/** Reports of the services in the first and in the second scenario. */
const REPORTS = [
  {},
  {
    warnings: [{ code: 'few_targets', message: 'Only 3 targets are eligible.', details: { count: 3 } }],
    isCacheHit: true,
    databaseSnapshots: [{ name: 'demo', version: 'dbr_1', digest: 'sha256:1', kind: 'homology_release' }],
    generatedObjectIds: ['htsp_1'],
    toolVersions: [{ name: 'kernels', version: '1', path: 'avx2' }],
    inputRefs: ['dbr_1'],
    objectRefs: ['fsch_1'],
    outputRefs: ['htsp_1'],
    rowCount: 3,
  },
];

let served: readonly Served[];
beforeAll(async () => {
  served = await Promise.all(
    REPORTS.map((report, index) => {
      const plain = fakeHandlers()[COMPILE.operationId];
      const startMs = performance.now();
      return serve({
        serverVersion: `0.1.0+build${index}`,
        // The clock of the second server advances during the answer.
        clock: {
          now: () => new Date(1_786_000_000_000 + index),
          nowMs: () => (index === 0 ? startMs : performance.now() * 1_000),
        },
        handlers: fakeHandlers({
          [COMPILE.operationId]: async (...input: Parameters<typeof plain>) => {
            const plainReply = (await plain(...input)) as Reply<TargetSpaceCompilation>;
            const { generatedObjectIds: _made, ...reply } = plainReply;
            return { ...reply, ...report };
          },
        }),
      });
    }),
  );
});
afterAll(() => Promise.all(served.map((each) => each.close())));

async function compile(index: number, field: string): Promise<Envelope> {
  const body = { DatabaseReleaseID: `dbr_${DIGEST_64}`, Filter: { op: 'exists', field } };
  return expectSuccess(
    await readResponse(await post(served[index] as Served, PATH, JSON.stringify(body))),
    COMPILE,
  ) as Envelope;
}

describe('provenance and evidence', () => {
  it('contain true values: every field changes with its source', async () => {
    const [first, second] = [await compile(0, 'organism'), await compile(1, 'taxid')];
    for (const part of ['provenance', 'evidence'] as const) {
      // The operation is equal on purpose: it names the route.
      const same = Object.keys(first[part]).filter(
        (name) => JSON.stringify(first[part][name]) === JSON.stringify(second[part][name]),
      );
      expect(same).toEqual(part === 'provenance' ? ['operation'] : []);
    }
    expect(second.evidence['warnings_count']).toBe(1);
    expect(second.warnings).toEqual(REPORTS[1]?.warnings);
  });

  it('have equal hashes for equal requests, whatever their spelling', async () => {
    const body = { DatabaseReleaseID: `dbr_${DIGEST_64}`, Filter: { op: 'exists', field: 'organism' } };
    const spelled = `{ "Filter" : {"field":"organi\\u0073m", "op":"exists"}, "DatabaseReleaseID":"dbr_${DIGEST_64}" }`;
    const response = await fetch((served[0] as Served).origin + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: spelled,
    });
    const { provenance } = (await response.json()) as Envelope;
    expect(provenance['input_hash']).toBe(canonicalSha256(body));
    expect(provenance['operation']).toBe(COMPILE.operationId);
    expect(provenance['request_id']).toBe(response.headers.get('x-request-id'));
    expect(provenance['parameters_hash']).toBe(canonicalSha256({ path: {}, query: {}, body }));
  });
});
