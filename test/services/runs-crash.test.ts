import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBench, call, type Answer, type Bench, type CallOptions, type Json } from './runs-served.js';

/*
 * A server is killed again and again while clients create, cancel and page. Afterwards every acknowledged run is there,
 * once, ended once, with all of its rows, billed for what it did, and its end was told to the receiver of webhooks.
 * GLOAMING_CRASH_KILLS=200 for the long version; GLOAMING_SEED repeats one.
 */

const KILLS = Number(process.env.GLOAMING_CRASH_KILLS ?? 5);
const CLIENTS = 20;
const KEPT_BY_ONE_CLIENT = 40;
const BATCH_QUERIES = 40;
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FINAL = new Set(['completed', 'failed', 'cancelled']);

let bench: Bench;
let url: string | undefined;
let server: ChildProcess;
let receiver: Server;
/** Types of the messages that came, by event id; one id may come more than once. */
const told = new Map<string, string>();
let isOver = false;

beforeAll(async () => {
  bench = await buildBench();
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      told.set(String(request.headers['webhook-id']), (JSON.parse(body) as Json).type);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server?.kill('SIGKILL');
  receiver.close();
  bench.remove();
});

async function startServer(): Promise<void> {
  server = spawn(process.execPath, [fileURLToPath(new URL('runs-server.mjs', import.meta.url))], {
    env: { ...process.env, ...bench.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: server.stdout! });
  [url] = (await once(lines, 'line')) as [string];
}

async function killServer(): Promise<void> {
  url = undefined;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** Numbers in [0, 1) that one seed repeats. Source  mulberry32 */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Asks until a server answers; undefined once the test is over. */
async function ask(method: string, path: string, options: CallOptions = {}): Promise<Answer | undefined> {
  while (!isOver) {
    try {
      if (url !== undefined) return await call(url + path, method, bench.keys.lab, options);
    } catch {
      // The server died with the request; what became of it, only asking again tells.
    }
    await pause(20);
  }
  return undefined;
}

interface Acknowledged {
  readonly id: string;
  readonly label: string;
  readonly isBatch: boolean;
  readonly firstQuery: number;
  /** The first final state that a client was told. */
  toldFinal?: string;
}

const acknowledged: Acknowledged[] = [];
const attempted = new Set<string>();

function tell(run: Acknowledged, { id, status }: Json): void {
  expect(id).toBe(run.id);
  if (!FINAL.has(status)) return;
  run.toldFinal ??= status;
  expect(status, `${id} was ${run.toldFinal}`).toBe(run.toldFinal);
}

function inputOf({ isBatch, firstQuery }: Pick<Acknowledged, 'isBatch' | 'firstQuery'>): Json {
  const sequence = (index: number) => bench.sequences[(firstQuery + index) % bench.sequences.length];
  return isBatch
    ? {
        limit: 3,
        queries: Array.from({ length: BATCH_QUERIES }, (_, index) => ({ sequence: sequence(index) })),
      }
    : { limit: 20, query: { kind: 'protein_sequence', sequence: sequence(0) } };
}

async function create(label: string, random: () => number): Promise<Acknowledged | undefined> {
  const wanted = {
    label,
    isBatch: random() < 0.5,
    firstQuery: Math.floor(random() * bench.sequences.length),
  };
  const endpoint = wanted.isBatch ? 'homology.batch_search' : 'homology.search';
  attempted.add(label);
  const answer = await ask('POST', '/v1/runs', {
    body: { endpoint, input: inputOf(wanted), label, priority: 'normal' },
    headers: { 'Idempotency-Key': label },
  });
  if (answer === undefined) return undefined;
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  const run = { ...wanted, id: answer.body.data.id as string };
  acknowledged.push(run);
  return run;
}

async function client(number: number): Promise<void> {
  const random = randomFrom(seed + number);
  const own: Acknowledged[] = [];
  while (!isOver) {
    const choice = random();
    const known = own[Math.floor(random() * own.length)];
    if (known === undefined || (choice < 0.3 && own.length < KEPT_BY_ONE_CLIENT)) {
      const run = await create(`client ${number} run ${own.length}`, random);
      if (run !== undefined) own.push(run);
    } else if (choice < 0.4) {
      const answer = await ask('POST', `/v1/runs/${known.id}/cancel`);
      if (answer?.status === 200) tell(known, answer.body.data);
      else if (answer !== undefined) expect(answer.status).toBe(409);
    } else if (choice < 0.7) {
      const answer = await ask('GET', `/v1/runs/${known.id}`);
      if (answer !== undefined) tell(known, answer.body.data);
    } else {
      const answer = await ask('GET', `/v1/runs/${known.id}/results?limit=7`);
      if (answer !== undefined) expect(answer.status).toBe(200);
    }
    await pause(random() * 60);
  }
}

async function allPages(path: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let cursor = ''; ;) {
    const { body } = await call(`${url}${path}${cursor}`, 'GET', bench.keys.lab, {});
    rows.push(...body.data);
    if (!body.has_more) return rows;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

async function finalEvents(runId: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/runs/${runId}/events`, {
    headers: { Authorization: `Bearer ${bench.keys.lab}` },
  });
  const types = [...(await response.text()).matchAll(/^event: run\.(.*)$/gm)].map(([, type]) => type);
  return types.filter((type) => FINAL.has(type));
}

/** What the direct route answers, asked once for each sequence. */
const digests = new Map<string, string>();
async function digestOf(sequence: string, limit: number): Promise<string> {
  const key = `${limit} ${sequence}`;
  if (!digests.has(key)) {
    const body = { query: { kind: 'protein_sequence', sequence }, limit };
    const answer = await call(`${url}/v1/homology`, 'POST', bench.keys.lab, { body });
    digests.set(key, answer.body.result_sha256);
  }
  return digests.get(key)!;
}

async function checkRun(run: Acknowledged, listed: Json): Promise<void> {
  const { status, usage, result } = listed;
  expect(FINAL.has(status), `${run.id} is ${status}`).toBe(true);
  expect(status, JSON.stringify(listed.error)).not.toBe('failed');
  if (run.toldFinal !== undefined) expect(status).toBe(run.toldFinal);
  expect(await finalEvents(run.id)).toEqual([status]);
  const rows = await allPages(`/v1/runs/${run.id}/results?limit=1000`);
  const input = inputOf(run);
  if (status === 'cancelled') {
    expect(usage.billable_units).toBe(0);
    return;
  }
  expect(usage.billable_units).toBe(run.isBatch ? BATCH_QUERIES : 1);
  expect(result.row_count).toBe(rows.length);
  if (!run.isBatch) {
    expect(rows.map(({ rank }) => rank)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(result.summary.result_sha256).toBe(await digestOf(input.query.sequence, 20));
    return;
  }
  expect(rows.map(({ query_index }) => query_index)).toEqual(
    input.queries.map((_: Json, index: number) => index),
  );
  for (const index of [0, 15, 16, BATCH_QUERIES - 1]) {
    expect(rows[index].result_sha256).toBe(await digestOf(input.queries[index].sequence, 3));
  }
}

/** One delivery for each end, and each one told, though maybe more than once. */
async function checkDeliveries(runs: ReadonlyMap<string, Json>): Promise<void> {
  const pending = async () => (await allPages('/v1/webhooks/deliveries?status=pending&limit=100')).length;
  while ((await pending()) > 0) await pause(200);
  const deliveries = await allPages('/v1/webhooks/deliveries?limit=100');
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
  expect(deliveries).toHaveLength(runs.size);
  expect(new Set(deliveries.map(({ event_id }) => event_id))).toEqual(new Set(told.keys()));
  const ends = (types: Iterable<string>) => [...types].sort();
  expect(ends(told.values())).toEqual(ends([...runs.values()].map(({ status }) => `run.${status}`)));
}

describe(`a server that is killed ${KILLS} times (seed ${seed})`, () => {
  it(
    'loses no acknowledged run, makes none twice, ends each once and bills what was done',
    async () => {
      const random = randomFrom(seed);
      await startServer();
      const { port } = receiver.address() as AddressInfo;
      const body = { url: `http://127.0.0.1:${port}/` };
      await call(`${url}/v1/webhooks/endpoints`, 'POST', bench.keys.lab, { body });
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
      clients.catch(() => (isOver = true));
      for (let kill = 0; kill < KILLS && !isOver; kill += 1) {
        await pause(100 + random() * 1_500);
        await killServer();
        await startServer();
      }
      await pause(500);
      isOver = true;
      await clients;
      // What a client had no answer to yet is asked for again, under its key, by nobody: it may be there or not.
      const listed = async () => new Map((await allPages('/v1/runs?limit=100')).map((run) => [run.id, run]));
      let runs = await listed();
      while ([...runs.values()].some(({ status }) => !FINAL.has(status))) {
        await pause(200);
        runs = await listed();
      }
      const labels = [...runs.values()].map(({ label }) => label as string);
      expect(new Set(labels).size).toBe(labels.length);
      expect(labels.every((label) => attempted.has(label))).toBe(true);
      expect(acknowledged.length).toBeGreaterThan(CLIENTS);
      for (const run of acknowledged) await checkRun(run, runs.get(run.id)!);
      await checkDeliveries(runs);
      const resumed = [...runs.values()].filter(({ attempt_count }) => attempt_count > 1).length;
      console.log(
        `${acknowledged.length} runs acknowledged, ${resumed} of them worked on by several servers`,
      );
    },
    60_000 + KILLS * 15_000,
  );
});
