import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { call, type Answer, type CallOptions } from '../services/runs/runs-served.js';
import { openDemoAppliance, type DemoAppliance } from '../tools/demo-appliance.js';

/*
 * The wall clock of a running server is set forward and back by a day. Timers and the monotonic clock go on, as they do
 * when a person or a time server sets the clock.
 */

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

let opened: DemoAppliance;
let server: RunningServer;
let key: string;
let receiver: Server;
let received: string[];
const begin = Date.now();

/** Sets the clock to this difference from the true time. */
const setClock = (ms: number): void => void vi.setSystemTime(begin + ms);

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: begin });
  received = [];
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push((JSON.parse(body) as { data: { run_id: string } }).data.run_id);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  opened = await openDemoAppliance({ seed: 11, proteins: 60 });
  server = await serve(opened.appliance, pino({ level: 'error' }), { isResponseChecked: true });
  key = await opened.keyOf('lab');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  expect((await ask('POST', '/v1/webhooks/endpoints', { body: { url } })).status).toBe(201);
});
afterEach(() => setClock(0));
afterAll(async () => {
  await server.stop(1_000);
  await opened.appliance.close();
  receiver.closeAllConnections();
  receiver.close();
  opened.remove();
  vi.useRealTimers();
});

const ask = (method: string, path: string, options: CallOptions = {}, as = key): Promise<Answer> =>
  call(server.url + path, method, as, options);

/** Runs a search to its end, by the wait of the request. */
async function runSearch(headers: Record<string, string> = {}): Promise<string> {
  const query = { kind: 'protein_sequence', sequence: opened.sequences[0] };
  const body = { endpoint: 'homology.search', input: { query, limit: 5 } };
  const { status, body: run } = await ask('POST', '/v1/runs', {
    body,
    headers: { Prefer: 'wait=20', ...headers },
  });
  expect([200, 202]).toContain(status);
  const { body: ended } = await ask('GET', `/v1/runs/${run.data.id}`, { headers: { Prefer: 'wait=20' } });
  expect(ended.data.status).toBe('completed');
  const rows = await ask('GET', `/v1/runs/${run.data.id}/results`);
  expect(rows.body.data).toHaveLength(5);
  return run.data.id as string;
}

describe.each([
  ['forward', DAY_MS + HOUR_MS],
  ['back', -DAY_MS - HOUR_MS],
])('a clock that is set %s by more than a day', (_, jump) => {
  it('stops no run and no webhook, and the list of runs has each run once', async () => {
    const before = await runSearch();
    setClock(jump);
    const after = await runSearch();
    expect((await ask('GET', `/v1/runs/${before}`)).body.data.status).toBe('completed');
    const listed = (await ask('GET', '/v1/runs?limit=100')).body.data.map(({ id }: { id: string }) => id);
    expect(listed).toEqual(expect.arrayContaining([before, after]));
    expect(new Set(listed).size).toBe(listed.length);
    await expect.poll(() => received, { timeout: 20_000 }).toEqual(expect.arrayContaining([before, after]));
  });

  it('ends a watch of a run at its end', async () => {
    const id = await runSearch();
    setClock(jump);
    const response = await fetch(`${server.url}/v1/runs/${id}/events`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(await response.text()).toContain('run.completed');
  });

  it('replays a request under its key for 24 hours of the clock, and executes it once at a time', async () => {
    const keyed = { 'Idempotency-Key': `jump ${jump}` };
    const first = await runSearch(keyed);
    setClock(jump);
    const second = await runSearch(keyed);
    // A day on the clock is over after a jump forward. After a jump back, the key lives longer.
    expect(second === first).toBe(jump < 0);
    expect(await runSearch(keyed)).toBe(second);
  });

  it('does not change admission: quotas use the monotonic clock', async () => {
    setClock(jump);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('GET', '/v1/runs')));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  });

  it('does not end a console session that is valid for a week', async () => {
    const { token } = await opened.appliance.console.sessions.enterByKey(key);
    expect(opened.appliance.console.sessions.find(token)?.isOpen).toBe(false);
    setClock(jump);
    expect(opened.appliance.console.sessions.find(token)?.organizationId).toBe('lab');
  });
});

describe('a key past its expiry', () => {
  it('is refused for new requests, sessions and streams, and its runs continue', async () => {
    const expiresAt = new Date(begin + HOUR_MS).toISOString();
    const { key: guest, row } = await opened.appliance.keys.create('guest', 'lab', {
      scope: 'manage',
      expiresAt,
    });
    const { token } = await opened.appliance.console.sessions.enterByKey(guest);
    const query = { kind: 'protein_sequence', sequence: opened.sequences[1] };
    const body = { endpoint: 'homology.search', input: { query, limit: 5 } };
    const { body: run } = await ask('POST', '/v1/runs', { body }, guest);
    setClock(HOUR_MS - 1);
    expect((await ask('GET', '/v1/runs', {}, guest)).status).toBe(200);
    setClock(HOUR_MS);
    for (const path of [
      '/v1/runs',
      `/v1/runs/${run.data.id}`,
      `/v1/runs/${run.data.id}/events`,
      '/v1/storage/files/acl?url=x',
    ]) {
      const refused = await ask('GET', path, {}, guest);
      expect(refused.status, path).toBe(401);
      expect(refused.headers.get('Service-Error-Type')).toBe('invalid_api_key');
      expect(refused.headers.get('Service-Retryable')).toBe('false');
    }
    const posted = await ask('POST', '/v1/runs', { body, headers: { 'Idempotency-Key': 'late' } }, guest);
    expect(JSON.stringify(posted.body)).toContain(`has expired on ${expiresAt}`);
    expect(opened.appliance.console.sessions.find(token)).toBeUndefined();
    await expect(opened.appliance.console.sessions.enterByKey(guest)).rejects.toMatchObject({
      code: 'invalid_api_key',
    });
    expect(opened.appliance.keys.live(row.id)).toBeUndefined();
    const { body: ended } = await ask('GET', `/v1/runs/${run.data.id}`, { headers: { Prefer: 'wait=20' } });
    expect(ended.data.status).toBe('completed');
  });
});
