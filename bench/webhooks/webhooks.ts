import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { assert } from '../../src/errors.js';
import { newId } from '../../src/ids.js';
import { AddressRules } from '../../src/services/webhooks/address.js';
import { WebhookDeliveries } from '../../src/services/webhooks/deliveries.js';
import { newWebhookSecret } from '../../src/services/webhooks/sign.js';
import { openControlStore, type ControlStore } from '../../src/store/control-store.js';
import { WebhookTable, type WebhookEndpointRow } from '../../src/store/tables/webhooks.js';
import type { Bench } from '../main.js';
import { percentile } from '../tools/statistics.js';

/*
 * How long does an event take to its receiver while the receivers of another organization hang? Each event of the
 * hanging organization is queued for each of its endpoints before the first event of the healthy one. Everything runs
 * on this machine. Latency counts from the commit of the event until its receiver has the whole message.
 *
 * npm run bench -- webhooks [seconds] [hanging endpoints] [events queued for them]; the default is 30 32 1000.
 */

const DEFAULT_SECONDS = 30;
const DEFAULT_HANGING_ENDPOINTS = 32;
const DEFAULT_QUEUED_EVENTS = 1_000;
const EVENT_INTERVAL_MS = 50;
const EVENTS_OF_A_TRANSACTION = 50;
/** Time for the last deliveries after the last event. */
const GRACE_MS = 5_000;

export const run: Bench = async ([
  seconds = DEFAULT_SECONDS,
  hangingCount = DEFAULT_HANGING_ENDPOINTS,
  queuedCount = DEFAULT_QUEUED_EVENTS,
]) => {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-webhooks-'));
  const store = openControlStore(folder);
  try {
    return await measure(store, Number(seconds), Number(hangingCount), Number(queuedCount));
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
};

async function measure(store: ControlStore, seconds: number, hangingCount: number, queuedCount: number) {
  const table = new WebhookTable(store);
  const receivedAtMs = new Map<string, number>();
  const healthy = await listen((response, body) => {
    receivedAtMs.set((JSON.parse(body) as { data: { subject: string } }).data.subject, performance.now());
    response.writeHead(204).end();
  });
  let hangingHeard = 0;
  const hanging = await listen(() => void (hangingHeard += 1));
  for (let index = 0; index < hangingCount; index += 1)
    await table.addEndpoint(endpoint('hanging', hanging), 1_000);
  await table.addEndpoint(endpoint('healthy', healthy), 1);
  for (let made = 0; made < queuedCount; made += EVENTS_OF_A_TRANSACTION) {
    await enqueue(store, table, 'hanging', Math.min(EVENTS_OF_A_TRANSACTION, queuedCount - made));
  }
  const faults: unknown[] = [];
  const deliveries = new WebhookDeliveries({
    table,
    addresses: new AddressRules(['127.0.0.0/8']),
    now: () => new Date(),
    random: Math.random,
    onFault: (error) => void faults.push(error),
  });
  const loop = monitorEventLoopDelay({ resolution: 5 });
  deliveries.start();
  // Deliveries to the hanging receivers start first.
  await wait(1_000);
  loop.enable();
  const madeAtMs = await makeEvents(store, table, deliveries, seconds);
  const untilMs = performance.now() + GRACE_MS;
  while (receivedAtMs.size < madeAtMs.size && performance.now() < untilMs) await wait(20);
  loop.disable();
  await deliveries.stop();
  for (const { server } of [healthy, hanging]) {
    server.closeAllConnections();
    server.close();
  }
  assert(faults.length === 0, 'every outcome was recorded');
  const latencies = [...madeAtMs].map(([id, madeMs]) => (receivedAtMs.get(id) ?? Infinity) - madeMs);
  const figures = {
    hanging_endpoints: hangingCount,
    queued_deliveries: hangingCount * queuedCount,
    attempts_at_hanging: hangingHeard,
    events: madeAtMs.size,
    undelivered: latencies.filter((latency) => latency === Infinity).length,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    worst_ms: Math.max(...latencies),
    loop_p99_ms: loop.percentile(99) / 1e6,
    loop_worst_ms: loop.max / 1e6,
  };
  describe(figures);
  return figures;
}

function describe(figures: Readonly<Record<string, number>>): void {
  const ms = (name: string): string => `${figures[name].toFixed(1)} ms`;
  console.log(
    `${figures.events} events to a healthy receiver beside ${figures.hanging_endpoints} that hang, ` +
      `with ${figures.queued_deliveries} deliveries queued:\n` +
      `p50 ${ms('p50_ms')}, p99 ${ms('p99_ms')}, worst ${ms('worst_ms')}, never ${figures.undelivered}; ` +
      `${figures.attempts_at_hanging} attempts hung; ` +
      `event loop p99 ${ms('loop_p99_ms')}, worst ${ms('loop_worst_ms')}`,
  );
}

/** Commits events of the healthy organization one after the other. Returns the time of each commit. */
async function makeEvents(
  store: ControlStore,
  table: WebhookTable,
  deliveries: WebhookDeliveries,
  seconds: number,
): Promise<ReadonlyMap<string, number>> {
  const madeAtMs = new Map<string, number>();
  const endMs = performance.now() + seconds * 1_000;
  while (performance.now() < endMs) {
    const [subject] = await enqueue(store, table, 'healthy', 1);
    madeAtMs.set(subject, performance.now());
    deliveries.wake();
    await wait(EVENT_INTERVAL_MS);
  }
  return madeAtMs;
}

/** Enqueues events. Returns the ids of their subjects. */
async function enqueue(
  store: ControlStore,
  table: WebhookTable,
  organizationId: string,
  count: number,
): Promise<readonly [string, ...string[]]> {
  const subjects = Array.from({ length: count }, () => newId('run')) as [string, ...string[]];
  const timestamp = new Date().toISOString();
  await store.transaction(() => {
    for (const subjectId of subjects) {
      const data = { subject: subjectId };
      table.enqueue({
        id: newId('evt'),
        sequence: 1,
        type: 'run.completed',
        organizationId,
        subjectId,
        timestamp,
        data,
      });
    }
  });
  return subjects;
}

interface Receiver {
  readonly server: Server;
  readonly url: string;
}

async function listen(onMessage: (response: ServerResponse, body: string) => void): Promise<Receiver> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => onMessage(response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

function endpoint(organizationId: string, { url }: Receiver): WebhookEndpointRow {
  const createdAt = new Date().toISOString();
  return {
    id: newId('whe'),
    organizationId,
    url,
    eventTypes: ['run.completed'],
    secrets: [{ secret: newWebhookSecret() }],
    createdAt,
    updatedAt: createdAt,
  };
}
