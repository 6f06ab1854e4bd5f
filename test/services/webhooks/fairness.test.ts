import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT,
  WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT,
  WEBHOOK_ENDPOINTS_MAX_COUNT,
} from '#src/limits.js';
import { ATTEMPTS_AT_MS } from '#src/services/webhooks/schedule.js';
import { context, openScene, type Scene } from './webhooks-scene.js';

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
  expect(scene.faults).toEqual([]);
});

/** Share of an organization's attempts for unresponsive endpoints. */
const SHARE = WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT - WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT;

const runOf = ({ body }: { readonly body: string }): string =>
  (JSON.parse(body) as { data: { run_id: string } }).data.run_id;

/** Responds to requests for /well only, and returns the ids received there. */
function answerWell(): ReadonlySet<string> {
  const arrived = new Set<string>();
  scene.answer = (response, message) => {
    if (message.path !== '/well') return;
    arrived.add(runOf(message));
    response.writeHead(204).end();
  };
  return arrived;
}

const hangs = (): number => scene.received.filter(({ path }) => path === '/hang').length;

/**
 * Ends runs, each after the previous one has arrived at /well. Returns the largest number of attempts at /hang
 * meanwhile.
 */
async function hangsUntilArrival(
  count: number,
  arrived: ReadonlySet<string>,
  between = () => {},
): Promise<number> {
  let most = 0;
  for (let index = 0; index < count; index += 1) {
    between();
    const before = hangs();
    const id = await scene.endRun();
    scene.webhooks.wake();
    while (!arrived.has(id)) await wait(1);
    most = Math.max(most, hangs() - before);
  }
  return most;
}

/** Makes the receiver stop responding after two attempts. */
function hangAfterTwo(): void {
  if (scene.received.length >= 2) scene.timeOut();
}

describe('a receiver that hangs', () => {
  it('delays no other organization, whatever the number of organizations and deliveries', async () => {
    for (let index = 0; index < WEBHOOK_ENDPOINTS_MAX_COUNT; index += 1) {
      await scene.endpoint({ url: `${scene.origin}/hang` }, 'rival');
    }
    await scene.endpoint({ url: `${scene.origin}/well` }, 'lab');
    const arrived = answerWell();
    // Each event goes to 32 endpoints.
    for (let index = 0; index < 32; index += 1) await scene.endRun('completed', 'rival');
    scene.webhooks.start((error) => scene.faults.push(error));
    await expect.poll(hangs).toBe(SHARE);
    expect(await hangsUntilArrival(50, arrived)).toBe(0);
    // Cancelled attempts may arrive after later ones.
    expect(await hangsUntilArrival(50, arrived, scene.timeOut)).toBeLessThanOrEqual(2 * SHARE);
    await expect.poll(hangs).toBeGreaterThan(SHARE);
  });

  it('delays no responsive endpoint of its own organization', async () => {
    const arrived = answerWell();
    await scene.endpoint({ url: `${scene.origin}/well` });
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(arrived.size).toBe(1);
    for (let index = 1; index < WEBHOOK_ENDPOINTS_MAX_COUNT; index += 1) {
      await scene.endpoint({ url: `${scene.origin}/hang` });
    }
    for (let index = 0; index < 8; index += 1) await scene.endRun();
    scene.webhooks.start((error) => scene.faults.push(error));
    await expect.poll(hangs).toBe(SHARE);
    expect(await hangsUntilArrival(25, arrived)).toBe(0);
    expect(await hangsUntilArrival(25, arrived, scene.timeOut)).toBeLessThanOrEqual(2 * SHARE);
    await expect.poll(hangs).toBeGreaterThan(SHARE);
  });

  it('is paused with all its deliveries, then gets one, and gets all once it responds', async () => {
    await scene.endpoint();
    const runs: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      runs.push(await scene.endRun());
      scene.clock += 1;
    }
    scene.answer = hangAfterTwo;
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(2);
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(2);
    const backAt = scene.clock + 5_000;
    const waiting = scene.deliveries().filter(({ attempt_count }) => attempt_count === 0);
    expect(waiting).toHaveLength(4);
    for (const { next_attempt_at } of waiting) expect(Date.parse(next_attempt_at!)).toBe(backAt);
    scene.clock = backAt;
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(3);
    scene.clock += 5 * 60 * 1000 - 1;
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(3);
    scene.clock += 1;
    scene.answer = (response) => response.writeHead(204).end();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries().every(({ status }) => status === 'delivered')).toBe(true);
    const first = [...new Set(scene.received.map(runOf))];
    expect(first.sort()).toEqual(runs.sort());
    // Exactly the attempts without a response are repeated, once.
    expect(scene.received).toHaveLength(6 + 3);
  });

  it('that is known to hang gets the events in the order in which they wait', async () => {
    await scene.endpoint();
    scene.answer = hangAfterTwo;
    const runs: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      runs.push(await scene.endRun());
      scene.clock += 1;
    }
    await scene.webhooks.deliverDue();
    scene.clock += 5_000;
    for (let index = 2; index < 5; index += 1) {
      await scene.webhooks.deliverDue();
      scene.clock += 5 * 60 * 1000;
    }
    const [a, b, ...others] = scene.received.map(runOf);
    expect([[a, b].sort(), others]).toEqual([runs.slice(0, 2).sort(), runs.slice(2)]);
  });

  it('for a day is disabled, whatever its deliveries', async () => {
    await scene.endpoint();
    for (let index = 0; index < 400; index += 1) await scene.endRun();
    scene.answer = (response) => response.destroy();
    const startMs = scene.clock;
    const list = () => scene.webhooks.listEndpoints({ limit: 1 }, context()).value.data[0];
    while (list().status === 'enabled' && scene.clock - startMs < 2 * ATTEMPTS_AT_MS.at(-1)!) {
      await scene.webhooks.deliverDue();
      scene.clock += 5 * 60 * 1000;
    }
    expect(list()).toMatchObject({ status: 'disabled', disabled_reason: 'lasting_failure' });
    expect(scene.clock - startMs).toBeGreaterThan(ATTEMPTS_AT_MS.at(-1)!);
    expect(scene.clock - startMs).toBeLessThan(1.1 * ATTEMPTS_AT_MS.at(-1)!);
    await scene.webhooks.deliverDue();
    expect(scene.deliveries('lab', { status: 'pending' })).toEqual([]);
  });

  it('gets an attempt at once when a delivery is sent again on request', async () => {
    await scene.endpoint();
    await scene.endRun();
    scene.answer = scene.timeOut;
    await scene.webhooks.deliverDue();
    scene.answer = (response) => response.writeHead(204).end();
    scene.clock += 1;
    await scene.webhooks.redeliver(scene.deliveries()[0].id, context());
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });
});

describe('a receiver that responds with any status', () => {
  it('gets all waiting deliveries', async () => {
    await scene.endpoint();
    for (let index = 0; index < 5; index += 1) await scene.endRun();
    scene.answer = (response) => response.writeHead(500).end();
    await scene.webhooks.deliverDue();
    expect(scene.received).toHaveLength(5);
  });
});
