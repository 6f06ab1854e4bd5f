import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import { IDEMPOTENCY_HEADER } from '#src/contract/grammar/headers.js';
import { Refusal } from '#src/errors.js';
import { IDEMPOTENCY_RETENTION_MS } from '#src/limits.js';
import { IdempotencyTable } from '#src/store/tables/idempotency.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import {
  expectFailure,
  expectSuccess,
  readResponse,
  type ReadResponse,
  SOON,
} from '../tools/expectations.js';
import {
  candidateSet,
  fakeHandlers,
  OTHER_KEY,
  post,
  searchBody,
  serve,
  type Served,
} from '../tools/serve.js';

const SEARCH = ROUTES['homology.search'];
const KEYED = { 'idempotency-key': 'first' };
/** Claim that crash-child.mjs makes. */
const CLAIMED = { organizationId: 'lab', key: 'key', scope: 'scope', fingerprint: 'fingerprint' };

let folder: string;
let store: ControlStore;
let executions: number;
/** Requests whose change was written with their answer. */
let written: string[];
let served: Served;
/** Releases the waiting executions. */
let release: () => void;
let now: Date;
let fails: boolean;
/** True if the execution writes its change together with its answer, as it must. */
let isJoining: boolean;

function handlers() {
  const gate = new Promise<void>((resolve) => (release = resolve));
  return fakeHandlers({
    'homology.search': async ({ body }, context) => {
      executions += 1;
      if (isJoining) context.keyed?.writeWithAnswer(() => written.push(context.requestId));
      if (body.query.sequence === 'WAIT') await gate;
      if (fails) throw new Refusal('database_not_found', 'No database has the id or slug "x".');
      return { ...candidateSet(context.requestId, body.query.sequence), billableUnits: executions };
    },
  });
}

async function start(bounds?: { maxResponses: number; maxBytes: number }): Promise<Served> {
  const clock = { nowMs: () => performance.now(), now: () => now };
  return serve({ store, handlers: handlers(), clock, ...(bounds === undefined ? {} : { bounds }) });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-idempotency-'));
  store = openControlStore(folder);
  executions = 0;
  written = [];
  fails = false;
  isJoining = true;
  now = new Date('2026-08-08T00:00:00Z');
  served = await start();
});
afterEach(async () => {
  release();
  await served.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

async function search(headers: Readonly<Record<string, string>>, overrides = {}) {
  return readResponse(await post(served, '/v1/homology', searchBody(overrides), headers));
}

describe('a request with an Idempotency-Key', () => {
  it('is executed once and answered byte for byte, with its first X-Request-ID', async () => {
    const first = await search(KEYED);
    const second = await search(KEYED);
    expectSuccess(second, SEARCH);
    expect(second.body).toBe(first.body);
    expect(second.headers['x-request-id']).toBe(first.headers['x-request-id']);
    expect(second.headers['x-service-billable-units']).toBe('1');
    expect(first.headers['idempotent-replayed']).toBe(undefined);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(executions).toBe(1);
    expect(written).toEqual([first.headers['x-request-id']]);
  });

  it('is refused by an operation that is not idempotent', async () => {
    isJoining = false;
    expectFailure(await search(KEYED), 'internal_error', SEARCH);
    expect((await search({})).status).toBe(200);
  });

  it('is the same request when the members of its body have another order', async () => {
    await search(KEYED, { limit: 7, evidence: 'candidate_measurement' });
    const second = await search(KEYED, { evidence: 'candidate_measurement', limit: 7.0 });
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  it('is the same request when its key is written as a structured-field string', async () => {
    await search({ 'idempotency-key': 'a b' });
    const second = await search({ 'idempotency-key': '"a b"' });
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  it('is refused when the key was used with another body or another contract pin', async () => {
    await search(KEYED);
    expectFailure(await search(KEYED, { limit: 2 }), 'idempotency_key_reused', SEARCH);
    const pinned = { ...KEYED, 'service-contract-pin': '2026-08-08' };
    expectFailure(await search(pinned), 'idempotency_key_reused', SEARCH);
    expect(executions).toBe(1);
  });

  it('is another request in another organization or on another route', async () => {
    await search(KEYED);
    await search({ ...KEYED, authorization: `Bearer ${OTHER_KEY}` });
    expect(executions).toBe(2);
    const body = JSON.stringify({
      DatabaseReleaseID: `dbr_${'a'.repeat(64)}`,
      Filter: { op: 'exists', field: 'organism' },
    });
    const compiled = await post(served, '/v1/homology/target-space-compilations', body, KEYED);
    expect(compiled.status).toBe(201);
    expect(compiled.headers.get('idempotent-replayed')).toBe(null);
    // The document says so, too.
    const { description } = IDEMPOTENCY_HEADER['Idempotency-Key'];
    expect(description).toContain('with another request on the same route is refused');
    expect(description).toContain('one organization and one route');
  });

  it('runs once among concurrent duplicates; the others are asked to retry', async () => {
    const wait = { query: { kind: 'protein_sequence', sequence: 'WAIT' } };
    const answered: ReadResponse[] = [];
    const twins = Array.from({ length: 8 }, async () => answered.push(await search(KEYED, wait)));
    await expect.poll(() => answered.length, SOON).toBe(7);
    for (const refused of answered) {
      expectFailure(refused, 'idempotency_key_in_use', SEARCH);
      expect(refused.headers['retry-after']).toBe('1');
    }
    release();
    await Promise.all(twins);
    expect(answered.at(-1)?.status).toBe(200);
    expect((await search(KEYED, wait)).headers['idempotent-replayed']).toBe('true');
    expect(executions).toBe(1);
  });

  it('stores nothing when it is invalid or refused', async () => {
    expectFailure(await search(KEYED, { limit: 0 }), 'validation_failed', SEARCH);
    fails = true;
    expectFailure(await search(KEYED), 'database_not_found', SEARCH);
    expect(written).toEqual([]);
    fails = false;
    expect((await search(KEYED)).status).toBe(200);
    expect(executions).toBe(2);
  });

  it('is replayed by the next server on the same control state', async () => {
    const first = await search(KEYED);
    await served.close();
    await store.close();
    store = openControlStore(folder);
    served = await start();
    const second = await search(KEYED);
    expect(second.body).toBe(first.body);
    expect(second.headers['x-request-id']).toBe(first.headers['x-request-id']);
    expect(executions).toBe(1);
  });

  it('expires after exactly 24 hours', async () => {
    await search(KEYED);
    now = new Date(now.getTime() + IDEMPOTENCY_RETENTION_MS - 1);
    expect((await search(KEYED)).headers['idempotent-replayed']).toBe('true');
    now = new Date(now.getTime() + 1);
    expect((await search(KEYED, { limit: 3 })).headers['idempotent-replayed']).toBe(undefined);
    expect(executions).toBe(2);
  });
});

describe('the storage of keyed responses', () => {
  it('refuses new keys at its bound, replays the stored ones, and accepts new ones when old ones expire', async () => {
    await served.close();
    served = await start({ maxResponses: 2, maxBytes: 1_000_000 });
    await search({ 'idempotency-key': 'a' });
    await search({ 'idempotency-key': 'b' });
    expectFailure(await search({ 'idempotency-key': 'c' }), 'idempotency_storage_full', SEARCH);
    expect((await search({ 'idempotency-key': 'a' })).headers['idempotent-replayed']).toBe('true');
    expect((await search({})).status).toBe(200);
    now = new Date(now.getTime() + IDEMPOTENCY_RETENTION_MS + 1);
    expect((await search({ 'idempotency-key': 'c' })).status).toBe(200);
  });

  it('is bounded in bytes as well', async () => {
    await served.close();
    served = await start({ maxResponses: 1_000, maxBytes: 1 });
    expect((await search({ 'idempotency-key': 'a' })).status).toBe(200);
    expectFailure(await search({ 'idempotency-key': 'b' }), 'idempotency_storage_full', SEARCH);
  });
});

describe('a server that is killed', () => {
  const child = new URL('crash-child.mjs', import.meta.url).pathname;
  const crash = (when: string): string => {
    const crashed = mkdtempSync(join(tmpdir(), 'gloaming-crash-'));
    expect(spawnSync(process.execPath, [child, crashed, when]).signal).toBe('SIGKILL');
    return crashed;
  };

  it('between execution and reply replays the answer', async () => {
    const crashed = crash('after');
    const reopened = openControlStore(crashed);
    const { stored } = await new IdempotencyTable(reopened).claim(CLAIMED, now);
    expect(stored?.body).toBe('the first answer');
    expect(stored?.headers).toEqual({ 'x-request-id': 'req_first' });
    await reopened.close();
    rmSync(crashed, { recursive: true });
  });

  it('before the answer was stored leaves the key free for the retry', async () => {
    const crashed = crash('before');
    const reopened = openControlStore(crashed);
    const claim = await new IdempotencyTable(reopened).claim(CLAIMED, now);
    expect(claim.stored).toBe(undefined);
    await reopened.close();
    rmSync(crashed, { recursive: true });
  });
});
