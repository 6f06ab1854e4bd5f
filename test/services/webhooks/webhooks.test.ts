import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ATTEMPTS_AT_MS, JITTER_MAX_RATIO } from '#src/services/webhooks/schedule.js';
import { context, openScene, verify, type Scene } from './webhooks-scene.js';

const DAY_MS = 24 * 60 * 60 * 1000;

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
  expect(scene.faults).toEqual([]);
});

describe('a delivery', () => {
  it('describes the event, is signed as Standard Webhooks requires, and can be looked up', async () => {
    const { secret, id: endpointId } = await scene.endpoint();
    const runId = await scene.endRun();
    await scene.webhooks.deliverDue();
    const [message] = scene.received;
    expect(verify(secret, message)).toMatchObject({
      type: 'run.completed',
      data: { run_id: runId, endpoint: 'homology.search', status: 'completed' },
    });
    expect(() => verify(secret, { ...message, body: message.body.replace('completed', 'failed') })).toThrow();
    const [delivery] = scene.deliveries();
    expect(delivery).toMatchObject({
      object: 'webhook_delivery',
      endpoint_id: endpointId,
      event_id: message.headers['webhook-id'],
      status: 'delivered',
      attempt_count: 1,
      response_status_code: 204,
    });
    expect(scene.runs.events.after(runId, 0).at(-1)!.id).toBe(delivery.event_id);
    expect(scene.webhooks.getDelivery(delivery.id, context()).value).toEqual(delivery);
    expect(() => scene.webhooks.getDelivery(delivery.id, context('other'))).toThrow(/another organization/);
    expect(() => scene.webhooks.getDelivery('whd_0', context())).toThrow(/No webhook delivery/);
  });

  it('exists for every final event and every subscribed endpoint, and for nothing else', async () => {
    const all = await scene.endpoint();
    const failures = await scene.endpoint({ event_types: ['run.failed'] });
    await scene.endpoint({}, 'other');
    for (const to of ['completed', 'failed', 'cancelled'] as const) await scene.endRun(to);
    await scene.runs.end('run_unknown', { to: 'cancelled', at: new Date(scene.clock) });
    const sent = scene.deliveries();
    expect(sent.map(({ endpoint_id }) => endpoint_id).sort()).toEqual(
      [all.id, all.id, all.id, failures.id].sort(),
    );
    expect(scene.deliveries('other')).toEqual([]);
    expect(scene.deliveries('lab', { endpoint_id: failures.id })).toHaveLength(1);
  });

  it('is attempted on schedule, each wait lengthened by a tenth at most, and given up after the last', async () => {
    const { id: endpointId } = await scene.endpoint();
    scene.answer = (response) => response.writeHead(500).end();
    await scene.endRun();
    for (let attempt = 1; attempt <= ATTEMPTS_AT_MS.length; attempt += 1) {
      scene.random = (attempt * 0.37) % 1;
      await scene.webhooks.deliverDue();
      await scene.webhooks.deliverDue();
      expect(scene.received).toHaveLength(attempt);
      const [delivery] = scene.deliveries();
      expect(delivery).toMatchObject({
        attempt_count: attempt,
        last_error: expect.stringContaining('status 500'),
      });
      if (attempt === ATTEMPTS_AT_MS.length) break;
      const wait = Date.parse(delivery.next_attempt_at!) - scene.clock;
      const nominal = ATTEMPTS_AT_MS[attempt] - ATTEMPTS_AT_MS[attempt - 1];
      expect(delivery.status).toBe('pending');
      expect(wait).toBeGreaterThanOrEqual(nominal);
      expect(wait).toBeLessThanOrEqual(nominal * (1 + JITTER_MAX_RATIO) + 1);
      scene.clock = Date.parse(delivery.next_attempt_at!) - 1;
      await scene.webhooks.deliverDue();
      expect(scene.received).toHaveLength(attempt);
      scene.clock += 1;
    }
    expect(scene.deliveries()[0]).toMatchObject({ status: 'failed', failed_at: expect.any(String) });
    expect(scene.deliveries()[0].next_attempt_at).toBeUndefined();
    const [disabled] = scene.webhooks.listEndpoints({ limit: 1 }, context()).value.data;
    expect(disabled).toMatchObject({
      id: endpointId,
      status: 'disabled',
      disabled_reason: 'lasting_failure',
    });
    expect(new Set(scene.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(scene.received.map(({ body }) => body)).size).toBe(1);
  });

  it('does not disable an endpoint that accepted other deliveries meanwhile', async () => {
    await scene.endpoint();
    const bad = await scene.endRun('failed');
    scene.answer = (response, { body }) => response.writeHead(body.includes(bad) ? 500 : 200).end();
    for (let attempt = 0; attempt < ATTEMPTS_AT_MS.length; attempt += 1) {
      await scene.webhooks.deliverDue();
      const next = scene.deliveries('lab', { status: 'pending' })[0]?.next_attempt_at;
      if (next !== undefined) scene.clock = Date.parse(next);
      if (attempt === 4) await scene.endRun();
    }
    expect(scene.deliveries('lab', { status: 'failed' })).toHaveLength(1);
    expect(scene.webhooks.listEndpoints({ limit: 1 }, context()).value.data[0].status).toBe('enabled');
  });

  it('succeeds only with a complete 2xx answer', async () => {
    const outcomes: [string, (response: ServerResponse) => void, object][] = [
      [
        'redirect',
        (r) => r.writeHead(302, { Location: `${scene.origin}/elsewhere` }).end(),
        { response_status_code: 302 },
      ],
      ['not found', (r) => r.writeHead(404).end('no'), { response_status_code: 404 }],
      [
        'changes the protocol',
        ({ socket }) => {
          const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
          socket!.write(upgrade);
        },
        { response_status_code: 101 },
      ],
      ['hangs', () => scene.timeOut(), { last_error: expect.stringContaining('No answer came within 30 s') }],
      ['closes', (r) => r.destroy(), { last_error: expect.stringContaining('The connection failed') }],
      [
        'breaks off',
        (r) => {
          r.writeHead(200, { 'Content-Length': '100' });
          r.write('half');
          setTimeout(() => r.destroy(), 20);
        },
        { last_error: expect.stringContaining('The connection failed') },
      ],
    ];
    for (const [name, respond, expected] of outcomes) {
      const { id } = await scene.endpoint();
      scene.answer = respond;
      await scene.endRun();
      await scene.webhooks.deliverDue();
      expect(scene.deliveries()[0], name).toMatchObject({ status: 'pending', attempt_count: 1, ...expected });
      await scene.webhooks.deleteEndpoint(id, context());
      scene.clock += 1;
    }
    await scene.endpoint();
    expect(scene.received.every(({ path }) => path === '/hook')).toBe(true);
    scene.answer = (r) => setTimeout(() => r.writeHead(200).end('slow'), 100);
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({ status: 'delivered' });
    scene.answer = (r) => r.writeHead(200).end(Buffer.alloc(1_000_000));
    scene.clock += 1;
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0], 'endless').toMatchObject({ status: 'delivered' });
  });

  it('that is answered with 410 disables the endpoint and ends its other deliveries', async () => {
    await scene.endpoint();
    scene.answer = (response) => response.writeHead(500).end();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.answer = (response) => response.writeHead(410).end();
    scene.clock += 6_000;
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({ status: 'failed', response_status_code: 410 });
    const [gone] = scene.webhooks.listEndpoints({ limit: 1 }, context()).value.data;
    expect(gone).toMatchObject({ status: 'disabled', disabled_reason: 'gone' });
    await scene.endRun();
    expect(scene.deliveries()).toHaveLength(1);
    await expect(scene.webhooks.redeliver(scene.deliveries()[0].id, context())).rejects.toMatchObject({
      code: 'webhook_endpoint_disabled',
    });
  });

  it('is sent again on request, with the same event id and body, and a schedule of its own', async () => {
    await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    const [{ id }] = scene.deliveries();
    scene.clock += 60_000;
    const again = await scene.webhooks.redeliver(id, context());
    expect(again.value).toMatchObject({ id, status: 'pending', attempt_count: 1 });
    scene.answer = (response) => response.writeHead(503).end();
    await scene.webhooks.deliverDue();
    const wait = Date.parse(scene.deliveries()[0].next_attempt_at!) - scene.clock;
    expect(wait).toBeGreaterThanOrEqual(5_000);
    expect(wait).toBeLessThanOrEqual(5_500);
    expect(scene.received).toHaveLength(2);
    expect([scene.received[1].body, scene.received[1].headers['webhook-id']]).toEqual([
      scene.received[0].body,
      scene.received[0].headers['webhook-id'],
    ]);
  });

  it('that is requested again during an attempt is sent again, whatever the outcome of the attempt', async () => {
    await scene.endpoint();
    const open: ServerResponse[] = [];
    scene.answer = (response) => void open.push(response);
    await scene.endRun();
    const attempts = scene.webhooks.deliverDue();
    while (open.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    scene.clock += 1_000;
    await scene.webhooks.redeliver(scene.deliveries()[0].id, context());
    scene.answer = (response) => response.writeHead(204).end();
    open[0].writeHead(503).end();
    await attempts;
    expect(scene.received).toHaveLength(2);
    expect(scene.deliveries()[0]).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('is deleted after 30 days by a running server', async () => {
    await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    const [{ id }] = scene.deliveries();
    scene.clock += 29 * DAY_MS;
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()).toHaveLength(1);
    scene.clock += DAY_MS + 1;
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()).toEqual([]);
    expect(() => scene.webhooks.getDelivery(id, context())).toThrow(/No webhook delivery/);
  });

  it('that was pending when the server stopped is sent after the restart', async () => {
    const { secret } = await scene.endpoint();
    scene.answer = () => undefined;
    await scene.endRun();
    const cut = scene.webhooks.deliverDue();
    while (scene.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await scene.webhooks.stop();
    await cut;
    expect(scene.deliveries()[0]).toMatchObject({ status: 'pending', attempt_count: 0 });
    scene.answer = (response) => response.writeHead(200).end();
    scene.webhooks = scene.openWebhooks();
    scene.webhooks.start((error) => scene.faults.push(error));
    while (scene.deliveries()[0].status !== 'delivered')
      await new Promise((resolve) => setTimeout(resolve, 5));
    verify(secret, scene.received[1]);
  });
});
