// @module-tag long

import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom, type Random } from '#src/random.js';
import { openControlStore } from '#src/store/control-store.js';
import { UsageTable } from '#src/store/tables/usage.js';
import { buildBench, call, type Answer, type Bench, type CallOptions, type Json } from './runs-served.js';
import { serveInProcess } from '../../tools/served-process.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/*
 * A server is killed repeatedly while clients create, cancel, page and export. Afterwards every acknowledged run exists
 * once and has ended once. It has all of its rows or its file, and is billed for its work. The webhook receiver got the
 * end of every run and every file. GLOAMING_CRASH_KILLS=200 runs the long version; GLOAMING_SEED repeats one.
 */

const KILLS = repetitions('GLOAMING_CRASH_KILLS', 5, 200);
const CLIENTS = 20;
/**
 * Runs of one client at the start. One more is allowed after each kill, so that every server has work when it is
 * killed.
 */
const FIRST_RUNS_OF_ONE_CLIENT = 4;
/** Runs of one client without a known end. */
const OPEN_RUNS_OF_ONE_CLIENT = 8;
const BATCH_QUERIES = 40;
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FINAL = new Set(['completed', 'failed', 'cancelled']);

let bench: Bench;
let url: string | undefined;
let server: ChildProcess;
let receiver: Server;
/** Types of received messages, by event id. An id may arrive more than once. */
const eventTypes = new Map<string, string>();
let killCount = 0;
let isOver = false;

beforeAll(async () => {
  bench = await buildBench();
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      eventTypes.set(String(request.headers['webhook-id']), (JSON.parse(body) as Json).type);
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
  const started = serveInProcess(bench.environment);
  server = started.server;
  url = await started.listening;
}

async function killServer(): Promise<void> {
  url = undefined;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** Repeats a request until a server responds; undefined once the test is over. */
async function ask(method: string, path: string, options: CallOptions = {}): Promise<Answer | undefined> {
  while (!isOver) {
    try {
      if (url !== undefined) return await call(url + path, method, bench.keys.lab, options);
    } catch {
      // The server died with the request. Only a repetition shows the result.
    }
    await pause(20);
  }
  return undefined;
}

interface Acknowledged {
  readonly id: string;
  readonly label: string;
  readonly kind: 'search' | 'batch' | 'export';
  readonly firstQuery: number;
  /** The run that is exported. */
  readonly source?: Acknowledged;
  readonly format?: 'fasta' | 'arrow' | 'parquet';
  /** The first final state in a response to the client. */
  finalStatus?: string;
}

const acknowledged: Acknowledged[] = [];
const attempted = new Set<string>();

function recordStatus(run: Acknowledged, { id, status }: Json): void {
  expect(id).toBe(run.id);
  if (!FINAL.has(status)) return;
  run.finalStatus ??= status;
  expect(status, `${id} was ${run.finalStatus}`).toBe(run.finalStatus);
}

function inputOf({ kind, firstQuery, source, format }: Omit<Acknowledged, 'id' | 'label'>): Json {
  if (kind === 'export') return { run_id: source!.id, format };
  const sequence = (index: number) => bench.sequences[(firstQuery + index) % bench.sequences.length];
  return kind === 'batch'
    ? {
        limit: 3,
        queries: Array.from({ length: BATCH_QUERIES }, (_, index) => ({ sequence: sequence(index) })),
      }
    : { limit: 20, query: { kind: 'protein_sequence', sequence: sequence(0) } };
}

const ENDPOINTS = {
  search: 'homology.search',
  batch: 'homology.batch_search',
  export: 'homology.export',
} as const;

function createSearch(label: string, random: Random): Promise<Acknowledged | undefined> {
  const kind = random.share() < 0.5 ? 'batch' : 'search';
  return create({ label, kind, firstQuery: random.below(bench.sequences.length) });
}

async function create(wanted: Omit<Acknowledged, 'id'>): Promise<Acknowledged | undefined> {
  const { label, kind } = wanted;
  const endpoint = ENDPOINTS[kind];
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
  const random = seededRandom(seed + number);
  const own: Acknowledged[] = [];
  while (!isOver) {
    const choice = random.share();
    const open = own.filter(({ finalStatus }) => finalStatus === undefined);
    const candidates = open.length > 0 && random.share() < 0.5 ? open : own;
    const picked = candidates.length === 0 ? undefined : candidates[random.below(candidates.length)];
    const mayCreate =
      own.length < FIRST_RUNS_OF_ONE_CLIENT + killCount && open.length < OPEN_RUNS_OF_ONE_CLIENT;
    if (picked === undefined || (choice < 0.3 && mayCreate)) {
      const label = `client ${number} run ${own.length}`;
      const format = (['fasta', 'arrow', 'parquet'] as const)[random.below(3)];
      const source = own.findLast(
        ({ kind, finalStatus }) => kind !== 'export' && finalStatus === 'completed',
      );
      const run =
        source !== undefined && random.share() < 0.5
          ? await create({ label, kind: 'export', firstQuery: 0, source, format })
          : await createSearch(label, random);
      if (run !== undefined) own.push(run);
    } else if (choice < 0.4) {
      const answer = await ask('POST', `/v1/runs/${picked.id}/cancel`);
      if (answer?.status === 200) recordStatus(picked, answer.body.data);
      else if (answer !== undefined) expect(answer.status).toBe(409);
    } else if (choice < 0.7) {
      const answer = await ask('GET', `/v1/runs/${picked.id}`);
      if (answer !== undefined) recordStatus(picked, answer.body.data);
    } else {
      const answer = await ask('GET', `/v1/runs/${picked.id}/results?limit=7`);
      if (answer !== undefined) expect(answer.status).toBe(200);
    }
    await pause(random.share() * 60);
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

/** Digests of the direct route, one request for each sequence, billed to another organization. */
const digests = new Map<string, string>();
async function digestOf(sequence: string, limit: number): Promise<string> {
  const key = `${limit} ${sequence}`;
  if (!digests.has(key)) {
    const body = { query: { kind: 'protein_sequence', sequence }, limit };
    const answer = await call(`${url}/v1/homology`, 'POST', bench.keys.other, { body });
    digests.set(key, answer.body.result_sha256);
  }
  return digests.get(key)!;
}

async function checkRun(run: Acknowledged, listed: Json): Promise<void> {
  const { status, usage, result } = listed;
  expect(FINAL.has(status), `${run.id} is ${status}`).toBe(true);
  expect(status, JSON.stringify(listed.error)).not.toBe('failed');
  if (run.finalStatus !== undefined) expect(status).toBe(run.finalStatus);
  expect(await finalEvents(run.id)).toEqual([status]);
  const rows = await allPages(`/v1/runs/${run.id}/results?limit=1000`);
  const input = inputOf(run);
  if (status === 'cancelled') {
    expect(usage.billable_units).toBe(0);
    return;
  }
  expect(usage.billable_units).toBe(UNITS[run.kind]);
  expect(result.row_count).toBe(rows.length);
  if (run.kind === 'export') return checkFile(run, result.summary);
  if (run.kind === 'search') {
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

const UNITS = { search: 1, batch: BATCH_QUERIES, export: 1 } as const;

async function checkFile({ source, format }: Acknowledged, { file, record_count }: Json): Promise<void> {
  const headers = { Authorization: `Bearer ${bench.keys.lab}` };
  const response = await fetch(`${url}${new URL(file.url).pathname}`, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.checksum);
  const candidates = source!.kind === 'batch' ? BATCH_QUERIES * 3 : 20;
  if (format === 'fasta') expect(bytes.toString().match(/^>/gm)).toHaveLength(record_count);
  else expect(record_count).toBe(candidates);
  if (format === 'arrow') expect(tableFromIPC(bytes).numRows).toBe(candidates);
}

/** The ledger has exactly the work that the runs report. */
async function checkLedger(runs: readonly Json[]): Promise<void> {
  await killServer();
  const store = openControlStore(bench.environment.GLOAMING_DATA);
  const usage = new UsageTable(store);
  for (const endpoint of Object.values(ENDPOINTS)) {
    const done = runs.filter((run) => run.endpoint === endpoint && run.status === 'completed');
    const units = done.reduce((sum, run) => sum + run.usage.billable_units, 0);
    expect(usage.totals('lab', endpoint)).toEqual({ calls: done.length, units });
  }
  await store.close();
}

/** One delivery for each end and each file, each received at least once. */
async function checkDeliveries(runs: ReadonlyMap<string, Json>): Promise<void> {
  const pending = async () => (await allPages('/v1/webhooks/deliveries?status=pending&limit=100')).length;
  while ((await pending()) > 0) await pause(200);
  const deliveries = await allPages('/v1/webhooks/deliveries?limit=100');
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
  // Equal rows in one format give equal files.
  const exports = [...runs.values()].filter(
    ({ endpoint, status }) => endpoint === ENDPOINTS.export && status === 'completed',
  );
  const files = new Set(exports.map(({ result }) => result.summary.file.path));
  expect(deliveries).toHaveLength(runs.size + files.size);
  expect(new Set(deliveries.map(({ event_id }) => event_id))).toEqual(new Set(eventTypes.keys()));
  const ends = (types: Iterable<string>) => [...types].sort();
  const expected = [...runs.values()].map(({ status }) => `run.${status}`);
  expect(ends(eventTypes.values())).toEqual(ends([...expected, ...[...files].map(() => 'file.completed')]));
}

describe(`a server that is killed ${KILLS} times (seed ${seed})`, () => {
  it(
    'loses no acknowledged run, creates no run twice, ends each run once and bills completed work',
    async () => {
      const random = seededRandom(seed);
      await startServer();
      const { port } = receiver.address() as AddressInfo;
      const body = { url: `http://127.0.0.1:${port}/` };
      await call(`${url}/v1/webhooks/endpoints`, 'POST', bench.keys.lab, { body });
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
      clients.catch(() => (isOver = true));
      let atWorkCount = 0;
      for (; killCount < KILLS && !isOver; killCount += 1) {
        await pause(100 + random.share() * 1_500);
        const atWork = await call(`${url}/v1/runs?status=running&limit=1`, 'GET', bench.keys.lab, {});
        atWorkCount += atWork.body.data.length;
        await killServer();
        await startServer();
      }
      await pause(500);
      // On a busy machine little work is done between two kills.
      while (acknowledged.length <= CLIENTS && !isOver) await pause(100);
      isOver = true;
      await clients;
      // Requests without a response are not repeated. Their runs may exist or not.
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
      expect(atWorkCount).toBeGreaterThanOrEqual(Math.floor(KILLS / 10));
      for (const run of acknowledged) await checkRun(run, runs.get(run.id)!);
      await checkDeliveries(runs);
      await checkLedger([...runs.values()]);
      const resumed = [...runs.values()].filter(({ attempt_count }) => attempt_count > 1).length;
      const count = (kind: Acknowledged['kind']) => acknowledged.filter((run) => run.kind === kind).length;
      console.log(
        `seed ${seed}: ${KILLS} kills, ${atWorkCount} of them amid a run, ` +
          `${acknowledged.length} runs acknowledged (${count('search')} searches, ${count('batch')} batches, ` +
          `${count('export')} exports), ${resumed} worked on by several servers, ${eventTypes.size} events told`,
      );
    },
    60_000 + KILLS * 15_000,
  );
});
