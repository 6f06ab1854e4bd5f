import { afterEach, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import type { AdmissionLimits } from '#src/http/admission/admission.js';
import { ExecutionQueue } from '#src/http/admission/execution-queue.js';
import { createRequestRate } from '#src/http/admission/request-rate.js';
import { expectFailure, readResponse, SOON } from '../../tools/expectations.js';
import {
  candidateSet,
  fakeHandlers,
  get,
  OTHER_KEY,
  post,
  searchBody,
  serve,
  type Served,
} from '../../tools/serve.js';

const SEARCH = ROUTES['homology.search'];
const LIMITS: AdmissionLimits = {
  requestQuota: 100,
  requestWindowSeconds: 1,
  concurrentExecutions: 1,
  queuedExecutions: 1,
  executionsPerKey: 10,
};

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

/** A server whose searches wait until the test releases them. */
async function gated(limits: Partial<AdmissionLimits>) {
  const going: (() => void)[] = [];
  const handlers = fakeHandlers({
    'homology.search': async ({ body }, context) => {
      await new Promise<void>((resolve) => going.push(resolve));
      return candidateSet(context.requestId, body.query.sequence);
    },
  });
  const started = await serve({ handlers, limits: { ...LIMITS, ...limits } });
  served = started;
  const search = async (headers = {}) =>
    readResponse(await post(started, '/v1/homology', searchBody(), headers));
  return { going, search, started };
}

/**
 * Simulates 6 s of arrivals. Two executions of 20 ms each serve 100 requests a second; one arrives every `arrivalMs`.
 */
async function simulateFlood(arrivalMs: number) {
  let nowMs = 0;
  const limits = { concurrentExecutions: 2, queuedExecutions: 64, executionsPerKey: 1_000 };
  const queue = new ExecutionQueue(limits, () => nowMs);
  const ends = new Map<() => void, number>();
  const waits: { readonly arrivedMs: number; readonly waitedMs: number }[] = [];
  let refused = 0;
  const arrive = (): void => {
    const place = queue.takePlace('key');
    const arrivedMs = nowMs;
    void place.start(new AbortController().signal, undefined).then(() => {
      waits.push({ arrivedMs, waitedMs: nowMs - arrivedMs });
      ends.set(place.leave, nowMs + 20);
    });
  };
  for (; nowMs < 6_000; nowMs += 1) {
    for (const [leave, endMs] of ends) {
      if (endMs > nowMs) continue;
      ends.delete(leave);
      leave();
    }
    try {
      if (nowMs % arrivalMs === 0) arrive();
    } catch {
      refused += 1;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { waits, refused };
}

describe('the request policy', () => {
  it('refuses a key that has used up its rate limit, and only that key', async () => {
    served = await serve({ limits: { ...LIMITS, requestQuota: 2, requestWindowSeconds: 60 } });
    const path = '/v1/homology/databases';
    expect((await get(served, path)).status).toBe(200);
    expect((await get(served, path)).status).toBe(200);
    const refused = await readResponse(await get(served, path));
    expectFailure(refused, 'rate_limit_exceeded', ROUTES['homology.databases.list']);
    expect(refused.headers['ratelimit-policy']).toBe('"request";q=2;w=60');
    expect(refused.headers['retry-after']).toBe('30');
    expect(refused.headers['ratelimit']).toBe('"request";r=0;t=30');
    expect((await get(served, path, { authorization: `Bearer ${OTHER_KEY}` })).status).toBe(200);
    expect((await get(served, '/healthz')).status).toBe(200);
  });

  it('refills evenly: the same request succeeds after the time in Retry-After', () => {
    let nowMs = 0;
    const takeRequest = createRequestRate({ requestQuota: 10, requestWindowSeconds: 10 }, () => nowMs);
    for (let taken = 0; taken < 10; taken += 1) takeRequest('key');
    expect(() => takeRequest('key')).toThrow(/more than 10 requests/);
    nowMs += 999;
    expect(() => takeRequest('key')).toThrow();
    nowMs += 1;
    takeRequest('key');
    expect(() => takeRequest('key')).toThrow();
    nowMs += 3_600_000;
    for (let taken = 0; taken < 10; taken += 1) takeRequest('key');
    expect(() => takeRequest('key')).toThrow();
  });
});

describe('the queue', () => {
  it('answers 429 at once when it is full, and serves the accepted requests', async () => {
    const { going, search } = await gated({});
    const [first, second] = [search(), search()];
    await expect
      .poll(() => served?.http.shell.admission.executions.counts(), SOON)
      .toEqual({ running: 1, waiting: 1 });
    const refused = await search();
    expectFailure(refused, 'queue_full', SEARCH);
    expect(refused.headers['ratelimit-policy']).toBe('"queue";q=2;qu="concurrent-requests"');
    going.shift()?.();
    expect((await first).status).toBe(200);
    await expect.poll(() => going.length, SOON).toBe(1);
    going.shift()?.();
    expect((await second).status).toBe(200);
    expect(served?.http.shell.admission.executions.counts()).toEqual({ running: 0, waiting: 0 });
  });

  it('limits the share of one key', async () => {
    const { going, search } = await gated({ executionsPerKey: 1, queuedExecutions: 10 });
    const first = search();
    await expect.poll(() => going.length, SOON).toBe(1);
    const refused = await search();
    expectFailure(refused, 'execution_limit_exceeded', SEARCH);
    expect(refused.headers['ratelimit-policy']).toBe('"execution";q=1;qu="concurrent-requests"');
    const other = search({ authorization: `Bearer ${OTHER_KEY}` });
    going.shift()?.();
    await first;
    await expect.poll(() => going.length, SOON).toBe(1);
    going.shift()?.();
    expect((await other).status).toBe(200);
  });

  it('refuses at the start deadline, and loses no turn', async () => {
    const { going, search } = await gated({ queuedExecutions: 5 });
    const first = search();
    await expect.poll(() => going.length, SOON).toBe(1);
    const late = await search({ 'service-request-timeout': '0.15' });
    expectFailure(late, 'start_deadline_exceeded', SEARCH);
    expect(late.status).toBe(504);
    expect(late.headers['service-request-timeout-type']).toBe('user');
    const patient = search({ 'service-request-timeout': '30' });
    going.shift()?.();
    expect((await first).status).toBe(200);
    await expect.poll(() => going.length, SOON).toBe(1);
    going.shift()?.();
    expect((await patient).status).toBe(200);
  });

  it('waits for a start deadline that is longer than any timer of Node', async () => {
    const { going, search } = await gated({ queuedExecutions: 5 });
    const first = search();
    await expect.poll(() => going.length, SOON).toBe(1);
    let answered = false;
    const patient = search({ 'service-request-timeout': '999999999' }).finally(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    going.shift()?.();
    expect((await first).status).toBe(200);
    await expect.poll(() => going.length, SOON).toBe(1);
    going.shift()?.();
    expect((await patient).status).toBe(200);
  });

  it('never runs more than its bound, whatever arrives, is cancelled or times out', async () => {
    const limits = { ...LIMITS, concurrentExecutions: 3, queuedExecutions: 1_000, executionsPerKey: 1_000 };
    const queue = new ExecutionQueue(limits, () => performance.now());
    let running = 0;
    let most = 0;
    const work = async (index: number): Promise<void> => {
      const place = queue.takePlace('key');
      const signal = index % 7 === 0 ? AbortSignal.timeout(1) : new AbortController().signal;
      try {
        await place.start(signal, undefined);
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, index % 3));
        running -= 1;
      } catch {
        // The client gave up.
      } finally {
        place.leave();
        place.leave();
      }
    };
    await Promise.all(Array.from({ length: 200 }, (_, index) => work(index)));
    expect(most).toBe(3);
    expect(queue.counts()).toEqual({ running: 0, waiting: 0 });
  });

  it('accepts no waiting requests during a long heavy overload', async () => {
    const { waits, refused } = await simulateFlood(1);
    const settled = waits.filter(({ arrivedMs }) => arrivedMs > 2_000).map(({ waitedMs }) => waitedMs);
    expect(Math.max(...settled)).toBeLessThanOrEqual(2);
    // The machine stays busy, and the burst before the overload was accepted whole.
    expect(settled.length).toBeGreaterThan(350);
    expect(waits.filter(({ waitedMs }) => waitedMs > 200).length).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(5_000);
  });

  it('accepts some waiting requests under a light overload, so that no turn is lost', async () => {
    const { waits } = await simulateFlood(8);
    const settled = waits.filter(({ arrivedMs }) => arrivedMs > 3_500).map(({ waitedMs }) => waitedMs);
    expect(Math.max(...settled)).toBeLessThanOrEqual(25);
    expect(settled.length).toBeGreaterThan(240);
  });

  it('limits a key that floods the queue, and leaves room for the others', () => {
    let nowMs = 0;
    const limits = { concurrentExecutions: 2, queuedExecutions: 60, executionsPerKey: 10 };
    const queue = new ExecutionQueue(limits, () => nowMs);
    const taken = Array.from({ length: 10 }, () => queue.takePlace('flood'));
    expect(() => queue.takePlace('flood')).toThrow(/No more than 10 executions .* for one key/);
    for (const place of taken.splice(0, 6)) place.leave();
    nowMs += 900;
    expect(() => queue.takePlace('flood')).toThrow(/No more than 4 executions .* for one key/);
    const others = Array.from({ length: 10 }, () => queue.takePlace('calm'));
    expect(others.length).toBe(10);
    // One second without a refusal ends the overload.
    nowMs += 1_001;
    for (let more = 0; more < 6; more += 1) queue.takePlace('flood');
    expect(() => queue.takePlace('flood')).toThrow(/No more than 10/);
  });
});

describe('the bound on requests in progress', () => {
  it('refuses at once and before authentication', async () => {
    const { going, search } = await gated({ requestsAtWork: 1 });
    const first = search();
    await expect.poll(() => going.length, SOON).toBe(1);
    expectFailure(await search({ authorization: 'Bearer unknown' }), 'queue_full', SEARCH);
    expect((await get(served as Served, '/healthz')).status).toBe(200);
    going.shift()?.();
    expect((await first).status).toBe(200);
  });

  it('leaves half of the slots to other organizations', async () => {
    const { going, search } = await gated({ requestsAtWork: 4, queuedExecutions: 5 });
    const mine = [search(), search()];
    await expect.poll(() => going.length, SOON).toBe(1);
    const refused = await search();
    expectFailure(refused, 'queue_full', SEARCH);
    expect(refused.headers['ratelimit-policy']).toBe('"queue";q=2;qu="concurrent-requests"');
    const other = search({ authorization: `Bearer ${OTHER_KEY}` });
    for (let ended = 0; ended < 3; ended += 1) {
      await expect.poll(() => going.length, SOON).toBe(1);
      going.shift()?.();
    }
    expect((await Promise.all([...mine, other])).map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = search();
    await expect.poll(() => going.length, SOON).toBe(1);
    going.shift()?.();
    expect((await after).status).toBe(200);
  });
});
