import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import { OPEN_EXECUTIONS_MAX_COUNT, OPEN_ORGANIZATION } from '#src/limits.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

/* A console that is open to the network: requests of a stranger without a key, who can set any header. */

let small: SmallAppliance;
let key: string;
beforeAll(async () => {
  small = await startSmallAppliance({ console: { open: true } });
  key = await small.keyOf('lab');
});
afterAll(() => small.close());

const OWN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
const OPEN_OPERATIONS = new Set([
  'homology.search',
  'homology.target_space_compilations.create',
  'homology.databases.list',
  'homology.databases.releases.list',
  'models.pricing.estimate',
  'receipts.get',
  'refs.resolve',
  'sequences.msa.a3m.create',
  'sequences.msa.a3m.get',
  'sequences.msa.components.create',
]);

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: any }> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(small.url + path, { method, headers: { ...OWN, ...headers }, ...sent });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

const searchOf = (at: number, more: object = {}) => ({
  query: { kind: 'protein_sequence', sequence: small.sequences[at % 60]!.slice(0, 30 + (at % 7)) },
  limit: 60,
  ...more,
});
const rowsOf = (table: string): number => small.appliance.store.table(table).getCount();
const residentMebibytes = (): number => process.memoryUsage().rss / 2 ** 20;

describe('a stranger at an open console', () => {
  it('has the open operations and no other of the contract', async () => {
    const closed: string[] = [];
    for (const { operationId, method, path } of Object.values(ROUTES)) {
      if (OPEN_OPERATIONS.has(operationId)) continue;
      const { status } = await ask(method, path.replace(/\{\w+\}/g, 'x'), method === 'GET' ? undefined : {});
      expect([operationId, [401, 403].includes(status)]).toEqual([operationId, true]);
      closed.push(operationId);
    }
    expect(closed.length).toBeGreaterThanOrEqual(30);
  });

  it('has no page of an operator, no metrics of others and no partial results', async () => {
    for (const path of ['system', 'jobs', 'keys', 'sessions'])
      expect([401, 403]).toContain((await ask('GET', `/console/api/${path}`)).status);
    expect((await ask('POST', '/console/api/keys', { name: 'k', organization: 'lab' })).status).toBe(403);
    expect((await ask('POST', '/parts/surveys', {})).status).not.toBe(200);
  });

  it('fills no store that others share: no keyed answer and no target space is written', async () => {
    const tables = ['idempotency', 'target-spaces', 'runs', 'files'];
    const before = tables.map(rowsOf);
    for (let at = 0; at < 20; at += 1) {
      const filter = { op: 'gte', field: 'length', value: String(10 + at) };
      const { status, body } = await ask('POST', '/v1/homology', searchOf(at, { filter }), {
        'Idempotency-Key': `stranger-${at}`,
      });
      expect([status, body.code]).toEqual([200, undefined]);
    }
    const { release_id: DatabaseReleaseID } = (await ask('POST', '/v1/homology', searchOf(0))).body.database;
    const compiled = await ask('POST', '/v1/homology/target-space-compilations', {
      DatabaseReleaseID,
      Filter: { op: 'gte', field: 'length', value: '5' },
    });
    expect(tables.map(rowsOf)).toEqual(before);
    expect(compiled.status, JSON.stringify(compiled.body)).toBeLessThan(300);
  });

  it('leaves a key its place in the queue, and the server its memory', { timeout: 60_000 }, async () => {
    await ask('POST', '/v1/homology', searchOf(0));
    const before = residentMebibytes();
    const strangers = Array.from({ length: 200 }, (_, at) =>
      ask('POST', '/v1/homology', searchOf(at, { evidence: 'pairwise_sequence_alignment' })),
    );
    const own = await ask('POST', '/v1/homology', searchOf(3), { Authorization: `Bearer ${key}` });
    expect(own.status).toBe(200);
    const statuses = (await Promise.all(strangers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(
      OPEN_EXECUTIONS_MAX_COUNT,
    );
    expect(residentMebibytes() - before).toBeLessThan(200);
  });

  it('is an organization that no key has by default', () => {
    const settings = readFileSync(join(small.folder, 'settings.json'), 'utf8');
    expect(settings).not.toContain(OPEN_ORGANIZATION);
  });
});
