import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { context, openScene, type Scene } from './webhooks-scene.js';

const DAY_MS = 24 * 60 * 60 * 1000;

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
  expect(scene.faults).toEqual([]);
});

describe('a clock that is set back by a day', () => {
  it('delays no delivery that is due', async () => {
    await scene.endpoint();
    const before = await scene.endRun();
    scene.clock -= DAY_MS;
    const after = await scene.endRun();
    await scene.webhooks.deliverDue();
    const sent = scene.received.map(
      ({ body }) => (JSON.parse(body) as { data: { run_id: string } }).data.run_id,
    );
    expect(sent.sort()).toEqual([before, after].sort());
  });

  it('delays no retry by more than its wait', async () => {
    await scene.endpoint();
    scene.answer = (response) => response.writeHead(500).end();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.clock -= DAY_MS;
    scene.answer = (response) => response.writeHead(204).end();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('does not pause an endpoint that has not responded for a day', async () => {
    await scene.endpoint();
    const lookup = scene.lookup;
    scene.lookup = async () => {
      throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' });
    };
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.clock -= DAY_MS;
    scene.lookup = lookup;
    await scene.endRun();
    await scene.webhooks.deliverDue();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries().map(({ status }) => status)).toEqual(['delivered', 'delivered']);
  });

  it('still pauses an endpoint that does not respond', async () => {
    await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.clock -= DAY_MS;
    let lookups = 0;
    scene.lookup = async () => {
      lookups += 1;
      throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' });
    };
    for (let run = 0; run < 20; run += 1) await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(lookups).toBeLessThanOrEqual(4);
  });

  it('does not lose a redelivery', async () => {
    await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    const { id } = scene.deliveries()[0]!;
    scene.clock -= DAY_MS;
    await scene.webhooks.redeliver(id, context());
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(2);
    expect(scene.deliveries()[0]).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('does not stop the deletion of old deliveries', async () => {
    await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.clock += 31 * DAY_MS + DAY_MS;
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()).toEqual([]);
    scene.clock -= DAY_MS;
    await scene.endRun();
    scene.clock -= 32 * DAY_MS;
    await scene.endRun();
    scene.clock += 32 * DAY_MS;
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()).toHaveLength(1);
  });
});

describe('a clock that is set forward by a day', () => {
  it('uses up one attempt of a schedule, not all of them', async () => {
    await scene.endpoint();
    scene.answer = (response) => response.writeHead(500).end();
    await scene.endRun();
    await scene.webhooks.deliverDue();
    scene.clock += DAY_MS;
    await scene.webhooks.deliverDue();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({ status: 'pending', attempt_count: 2 });
    const [endpoint] = scene.webhooks.listEndpoints({ limit: 1 }, context()).value.data;
    expect(endpoint).toMatchObject({ status: 'enabled' });
  });
});
