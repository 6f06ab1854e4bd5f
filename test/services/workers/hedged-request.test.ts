// @module-tag fast

import { describe, expect, it } from 'vitest';
import { createResponseTimes } from '#src/services/workers/response-times.js';
import { hedgedRequest, Superseded } from '#src/services/workers/hedged-request.js';
import { HEDGE_FIRST_MS, HEDGE_MIN_MS, HEDGE_TIMES_MAX_COUNT } from '#src/limits.js';

/** Stub timers, which fire when the test calls their `work`. */
function manualTimers() {
  const timers: { readonly ms: number; readonly work: () => void; isStopped: boolean }[] = [];
  return {
    timers,
    setTimer(ms: number, work: () => void) {
      const timer = { ms, work, isStopped: false };
      timers.push(timer);
      return () => (timer.isStopped = true);
    },
  };
}

/** Stub worker whose response the test resolves. */
function stubWorker() {
  let settle: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  const stub = {
    signal: undefined as AbortSignal | undefined,
    attempt: (signal: AbortSignal): Promise<string> => {
      stub.signal = signal;
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    answer: (value: string): void => settle!.resolve(value),
    fail: (message: string): void => settle!.reject(new Error(message)),
  };
  return stub;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a hedged request', () => {
  it('returns the response of the first worker and sends no second request if the first is fast', async () => {
    const [first, second] = [stubWorker(), stubWorker()];
    const world = manualTimers();
    const response = hedgedRequest([first.attempt, second.attempt], { afterMs: 7, world });
    expect(world.timers.map(({ ms }) => ms)).toEqual([7]);
    first.answer('a');
    expect(await response).toBe('a');
    world.timers[0]!.work();
    expect(second.signal).toBeUndefined();
  });

  it('sends a second request if the first is slow, and cancels the first when the second responds', async () => {
    const [first, second] = [stubWorker(), stubWorker()];
    const world = manualTimers();
    const response = hedgedRequest([first.attempt, second.attempt], { afterMs: 7, world });
    world.timers[0]!.work();
    second.answer('b');
    expect(await response).toBe('b');
    expect(first.signal!.reason).toBeInstanceOf(Superseded);
  });

  it('tries the next worker at once after a failure, and rejects with all failures if every worker fails', async () => {
    const workers = [stubWorker(), stubWorker(), stubWorker()];
    const world = manualTimers();
    const failure = hedgedRequest(
      workers.map(({ attempt }) => attempt),
      { afterMs: 7, world },
    ).catch((error: unknown) => error);
    for (const [index, { fail }] of workers.entries()) {
      expect(workers.filter(({ signal }) => signal !== undefined)).toHaveLength(index + 1);
      fail(`${index}`);
      await turn();
    }
    expect(((await failure) as AggregateError).errors.map(({ message }: Error) => message)).toEqual([
      '0',
      '1',
      '2',
    ]);
  });

  it('rejects with the reason of the signal and sends no further request', async () => {
    const [first, second] = [stubWorker(), stubWorker()];
    const world = manualTimers();
    const controller = new AbortController();
    const response = hedgedRequest([first.attempt, second.attempt], {
      afterMs: 7,
      world,
      signal: controller.signal,
    });
    controller.abort(new Error('gone'));
    await expect(response).rejects.toThrow('gone');
    world.timers[0]!.work();
    expect(second.signal).toBeUndefined();
  });

  it('sends no request if the signal is already aborted', async () => {
    const first = stubWorker();
    const signal = AbortSignal.abort(new Error('gone before'));
    const response = hedgedRequest([first.attempt], { afterMs: 7, world: manualTimers(), signal });
    await expect(response).rejects.toThrow('gone before');
    expect(first.signal).toBeUndefined();
  });
});

it('the hedging delay is the 95th percentile of the latest response times, within its bounds', () => {
  const times = createResponseTimes();
  expect(times.percentile95Ms()).toBe(HEDGE_FIRST_MS);
  for (let ms = 1; ms <= 100; ms += 1) times.add(1_000 * ms);
  const oldest = 101 - HEDGE_TIMES_MAX_COUNT;
  expect(times.percentile95Ms()).toBe(1_000 * (oldest - 1 + Math.ceil(0.95 * HEDGE_TIMES_MAX_COUNT)));
  for (let count = 0; count < HEDGE_TIMES_MAX_COUNT; count += 1) times.add(1);
  expect(times.percentile95Ms()).toBe(HEDGE_MIN_MS);
});
