// @module-tag long

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { seededRandom, type Random } from '#src/random.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { UsageTable } from '#src/store/tables/usage.js';
import { buildBench, call, type Answer, type Bench, type Json } from '../runs/runs-served.js';
import { serveInProcess } from '../../tools/served-process.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/*
 * A server is killed repeatedly while clients create every kind of object. Each request has an Idempotency-Key, and is
 * repeated under the same key until it gets a response. Afterwards every object exists once, and its client has
 * received its id. GLOAMING_CRASH_KILLS=300 runs the long version; GLOAMING_SEED repeats one.
 */

const KILLS = repetitions('GLOAMING_CRASH_KILLS', 3, 300);
const CLIENTS = 24;
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

interface Client {
  readonly organization: string;
  readonly key: string;
  readonly random: Random;
  /** Ids from the responses to this client, by the name of the object. */
  readonly acknowledged: Map<string, string>;
  billedCount: number;
  /** Number of request names. A request's key is its name. */
  nameCount: number;
}

/** Messages about violated promises. */
const doubled: string[] = [];
const orphans: string[] = [];
let requestCount = 0;
let replayCount = 0;

let bench: Bench;
let clients: readonly Client[];
let server: ChildProcess;
let url: string | undefined;
let isOver = false;

beforeAll(async () => {
  bench = await buildBench(60);
  const appliance = await openAppliance(loadConfig(bench.environment));
  clients = await Promise.all(Array.from({ length: CLIENTS }, (_, number) => clientOf(appliance, number)));
  await appliance.close();
});
afterAll(() => {
  server?.kill('SIGKILL');
  bench.remove();
});

async function clientOf({ keys }: Appliance, number: number): Promise<Client> {
  const organization = `lab-${number}`;
  const { key } = await keys.create('test', organization);
  return {
    organization,
    key,
    random: seededRandom(seed + number),
    acknowledged: new Map(),
    billedCount: 0,
    nameCount: 0,
  };
}

async function startServer(): Promise<void> {
  const started = serveInProcess(bench.environment);
  server = started.server;
  url = await started.listening;
}

async function killServer(): Promise<void> {
  url = undefined;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** Repeats a request until a server responds. */
async function ask({ key }: Client, method: string, path: string, body?: unknown, idempotencyKey?: string) {
  const headers = idempotencyKey === undefined ? undefined : { 'Idempotency-Key': idempotencyKey };
  for (;;) {
    try {
      if (url !== undefined) {
        requestCount += 1;
        const answer = await call(url + path, method, key, { body, headers });
        if (answer.status < 500 && answer.headers.get('Service-Retryable') !== 'true') return answer;
      }
    } catch {
      // The server died with the request. Only a repetition shows the result.
    }
    await pause(5);
  }
}

/** Sends a request under a key of its own until it gets a response. */
async function keyed(client: Client, name: string, path: string, body: unknown): Promise<Json> {
  const answer: Answer = await ask(client, 'POST', path, body, name);
  expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  if (answer.headers.get('Idempotent-Replayed') === 'true') replayCount += 1;
  return answer.body.data ?? answer.body;
}

async function list(client: Client, path: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let cursor = ''; ;) {
    const { body } = await ask(client, 'GET', `${path}?limit=100${cursor}`);
    rows.push(...body.data);
    if (!body.has_more) return rows;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

/** Exactly one object with this name must exist, with the id that its client has received. */
function checkOne(rows: readonly Json[], nameOf: (row: Json) => unknown, name: string, id: string): void {
  const ids = rows.filter((row) => nameOf(row) === name).map((row) => row.id as string);
  if (ids.length > 1) doubled.push(name);
  orphans.push(...ids.filter((orphan) => orphan !== id));
}

/** Each function creates one object, and checks it and the objects that are created with it. */
const WORKS: readonly ((client: Client, name: string) => Promise<void>)[] = [
  async (client, name) => {
    const body = { url: 'http://127.0.0.1:9/', description: name, event_types: ['file.deleted'] };
    const { id, secret } = await keyed(client, name, '/v1/webhooks/endpoints', body);
    checkOne(await list(client, '/v1/webhooks/endpoints'), ({ description }) => description, name, id);
    const path = `/v1/webhooks/endpoints/${id}`;
    const rotated = await keyed(client, `${name} rotated`, `${path}/rotate-secret`, undefined);
    expect(rotated.secret).not.toBe(secret);
    await ask(client, 'DELETE', path);
  },
  async (client, name) => {
    const { sql_credential } = await keyed(client, name, '/v1/sql-credentials', { name });
    const isOurs = (row: Json): unknown => row.is_active && row.name;
    checkOne(await list(client, '/v1/sql-credentials'), isOurs, name, sql_credential.id);
    const path = `/v1/sql-credentials/${sql_credential.id}`;
    await keyed(client, `${name} rotated`, `${path}/rotate`, undefined);
    await ask(client, 'DELETE', path);
  },
  async (client, name) => {
    const body = { file_name: `${name}.bin`, size_bytes: 3 };
    const { id } = await keyed(client, name, '/v1/storage/uploads', body);
    client.acknowledged.set(`${name}.bin`, id);
    const path = `/v1/storage/uploads/${id}`;
    const { urls } = await keyed(client, `${name} urls`, `${path}/part-urls`, { part_numbers: [1] });
    const place = new URL(urls[0].url as string);
    for (let status = 0; status !== 200; await pause(5)) {
      const put = await fetch(`${url}${place.pathname}${place.search}`, { method: 'PUT', body: 'abc' }).catch(
        () => undefined,
      );
      status = put?.status ?? 0;
    }
    await keyed(client, `${name} part`, `${path}/parts/1/acknowledge`, {});
    const file = await keyed(client, `${name} done`, `${path}/complete`, undefined);
    const signing = `/v1/storage/file-signed-urls?url=${encodeURIComponent(new URL(file.url as string).pathname)}`;
    await keyed(client, `${name} signed`, signing, {});
  },
  async (client, name) => {
    const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
    const input = { query, limit: 3, database: 'demo' };
    const body = { endpoint: 'homology.search', input, label: name, background: true };
    const { id } = await keyed(client, name, '/v1/runs', body);
    client.acknowledged.set(name, id);
    const cancelled = await ask(client, 'POST', `/v1/runs/${id}/cancel`, undefined, `${name} cancelled`);
    expect([200, 409]).toContain(cancelled.status);
  },
  async (client, name) => {
    const sequence = bench.sequences[client.random.below(8)];
    const query = { kind: 'protein_sequence', sequence };
    const body = { query, limit: 2, evidence: 'pairwise_sequence_alignment' };
    const answer = await keyed(client, name, '/v1/homology', body);
    client.billedCount += 1;
    const receipt = { receipt_id: answer.receipt.id };
    const component = { ...receipt, target_id: answer.candidates[0].target.id };
    await keyed(client, `${name} component`, '/v1/sequences/msa/components', component);
    await keyed(client, `${name} msa`, '/v1/sequences/msa/a3m', receipt);
    client.billedCount += 1;
    const space = {
      DatabaseReleaseID: answer.database.release_id,
      Filter: { op: 'exists', field: 'organism' },
    };
    await keyed(client, `${name} space`, '/v1/homology/target-space-compilations', space);
  },
];

async function work(client: Client): Promise<void> {
  while (!isOver) {
    const name = `${client.organization}-${(client.nameCount += 1)}`;
    await WORKS[client.random.below(WORKS.length)](client, name);
  }
}

interface Named {
  readonly id: string;
  readonly organizationId: string;
}

/** Rows of a client in a table: no name occurs twice, and the client has received every id. */
function checkTable<Row extends Named>(
  store: ControlStore,
  table: string,
  { organization, acknowledged }: Client,
  nameOf: (row: Row) => string | undefined,
): void {
  const rows = [...store.table<Row>(table).getRange()].map(({ value }) => value);
  const own = rows.filter(({ organizationId }) => organizationId === organization);
  const names = own.map(nameOf);
  doubled.push(...names.filter((name, index) => names.indexOf(name) !== index).map(String));
  orphans.push(...own.filter((row) => acknowledged.get(nameOf(row) ?? '') !== row.id).map(({ id }) => id));
}

/** One entry for each search and each alignment that got a response. */
function checkLedger(usage: UsageTable, { organization, billedCount }: Client): void {
  const entries = usage.list(organization, 0, 1_000_000).filter(({ id }) => id.startsWith('req_'));
  const excess = entries.length - billedCount;
  if (excess > 0) doubled.push(...Array<string>(excess).fill(`bill of ${organization}`));
  if (excess < 0)
    orphans.push(...Array<string>(-excess).fill(`answer of ${organization} that was not billed`));
}

describe(`a server that is killed ${KILLS} times amid keyed requests (seed ${seed})`, () => {
  it(
    'creates every object once, and its client received every id',
    async () => {
      const random = seededRandom(seed);
      await startServer();
      const working = Promise.all(clients.map(work));
      working.catch(() => (isOver = true));
      for (let killCount = 0; killCount < KILLS && !isOver; killCount += 1) {
        await pause(50 + random.share() * 700);
        await killServer();
        await startServer();
      }
      isOver = true;
      await working;
      await killServer();
      const store = openControlStore(bench.environment.GLOAMING_DATA!);
      const usage = new UsageTable(store);
      for (const client of clients) {
        checkTable<Named & { path: string }>(store, 'uploads', client, ({ path }) => path);
        checkTable<Named & { label?: string }>(store, 'runs', client, ({ label }) => label);
        checkLedger(usage, client);
      }
      await store.close();
      console.log(
        `seed ${seed}: ${KILLS} kills, ${requestCount} requests, ${replayCount} answers found by a retry, ` +
          `${doubled.length} doubled, ${orphans.length} orphans`,
      );
      expect({ doubled, orphans }).toEqual({ doubled: [], orphans: [] });
      expect(requestCount).toBeGreaterThan(10 * KILLS);
    },
    60_000 + KILLS * 10_000,
  );
});
