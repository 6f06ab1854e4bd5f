import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import type { WebhookDelivery, WebhookEndpointSecret } from '#src/contract/webhooks.js';
import { newId } from '#src/ids.js';
import type { RequestContext } from '#src/services/context.js';
import { Pages } from '#src/services/pages.js';
import { AddressRules, type Lookup } from '#src/services/webhooks/address.js';
import { Webhooks } from '#src/services/webhooks/webhooks.js';
import { openControlStore } from '#src/store/control-store.js';
import { RunTable } from '#src/store/tables/runs.js';
import { WebhookTable } from '#src/store/tables/webhooks.js';
import { realWorld, type World } from '#src/world.js';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Webhooks on a real LMDB with a local receiver. The test controls clocks, randomness and host names. */
export interface Scene {
  readonly runs: RunTable;
  readonly origin: string;
  readonly received: Received[];
  readonly faults: unknown[];
  webhooks: Webhooks;
  answer: (response: ServerResponse, request: Received) => void;
  clock: number;
  random: number;
  lookup: Lookup;
  /** The webhook service of a restarted server. */
  openWebhooks(): Webhooks;
  /** Lets all running attempts time out, without waiting. */
  readonly timeOut: () => void;
  endpoint(request?: object, organizationId?: string): Promise<WebhookEndpointSecret>;
  /** Ends a run, which appends an event and enqueues deliveries. Returns its id. */
  endRun(to?: 'completed' | 'failed' | 'cancelled', organizationId?: string): Promise<string>;
  deliveries(organizationId?: string, filter?: object): readonly WebhookDelivery[];
  close(): Promise<void>;
}

const ATTEMPT_TIMEOUT_MS = 30_000;

export const context = (organizationId = 'lab'): RequestContext => ({
  requestId: 'req_1',
  organizationId,
  keyId: 'key_1',
  signal: new AbortController().signal,
  receivedAtMs: 0,
});

export async function openScene(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-webhooks-'));
  const store = openControlStore(folder);
  const received: Received[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body };
      received.push(one);
      scene.answer(response, one);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const table = new WebhookTable(store);
  const timeouts = new Set<() => void>();
  const setTimer: World['setTimer'] = (ms, work) => {
    if (ms !== ATTEMPT_TIMEOUT_MS) return realWorld.setTimer(ms, work);
    timeouts.add(work);
    return () => timeouts.delete(work);
  };
  const openWebhooks = (): Webhooks =>
    new Webhooks({
      table,
      pages: new Pages(Buffer.alloc(32, 1)),
      addresses: new AddressRules(['127.0.0.0/8'], (hostname) => scene.lookup(hostname)),
      now: () => new Date(scene.clock),
      random: () => scene.random,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      world: { ...realWorld, setTimer },
    });
  const scene: Scene = {
    runs: new RunTable(store, { onEvent: (event) => table.enqueue(event) }),
    origin: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    received,
    faults: [],
    webhooks: openWebhooks(),
    answer: (response) => response.writeHead(204).end(),
    clock: Date.now(),
    random: 0.5,
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    openWebhooks,
    timeOut: () => timeouts.forEach((work) => work()),
    async endpoint(request = {}, organizationId = 'lab') {
      const whole = { url: `${scene.origin}/hook`, ...request };
      return (await scene.webhooks.createEndpoint(whole, context(organizationId))).value;
    },
    async endRun(to = 'completed', organizationId = 'lab') {
      const id = newId('run');
      const at = new Date(scene.clock);
      const run = { ...RUN, id, organizationId, createdAt: at.toISOString() };
      await scene.runs.create(run, Buffer.from('plan'));
      await scene.runs.claim(id, 'claim', at);
      await scene.runs.end(id, { to, at, claim: 'claim' });
      return id;
    },
    deliveries: (organizationId = 'lab', filter = {}) =>
      scene.webhooks.listDeliveries({ limit: 100, ...filter }, context(organizationId)).value.data,
    async close() {
      await scene.webhooks.stop();
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
  return scene;
}

const RUN = {
  keyId: 'key_1',
  requestId: 'req_1',
  endpoint: 'homology.search',
  priority: 'normal',
  isBackground: true,
  inputSha256: 'a',
  totalCount: 1,
} as const;

/** Verifies a message with an independent implementation. */
export function verify(secret: string, { headers, body }: Received): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
