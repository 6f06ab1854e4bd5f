// @module-tag fast

import { describe, expect, it } from 'vitest';
import { createAnswerTimes } from '#src/services/workers/answer-times.js';
import { firstAnswer, Outrun } from '#src/services/workers/first-answer.js';
import { HEDGE_FIRST_MS, HEDGE_MIN_MS, HEDGE_TIMES_MAX_COUNT } from '#src/limits.js';

/** Timers that fire when they are told to. */
function handTimers() {
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

/** One who is asked, and answers when he is told to. */
function respondent() {
  let settle: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  const asked = {
    signal: undefined as AbortSignal | undefined,
    ask: (signal: AbortSignal): Promise<string> => {
      asked.signal = signal;
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    answer: (value: string): void => settle!.resolve(value),
    fail: (message: string): void => settle!.reject(new Error(message)),
  };
  return asked;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the first answer', () => {
  it('is that of the first, and the second is not asked where the first says something in time', async () => {
    const [first, second] = [respondent(), respondent()];
    const world = handTimers();
    const found = firstAnswer([first.ask, second.ask], { afterMs: 7, world });
    expect(world.timers.map(({ ms }) => ms)).toEqual([7]);
    first.answer('a');
    expect(await found).toBe('a');
    world.timers[0]!.work();
    expect(second.signal).toBeUndefined();
  });

  it('is that of the second where the first is slow, who is cancelled then', async () => {
    const [first, second] = [respondent(), respondent()];
    const world = handTimers();
    const found = firstAnswer([first.ask, second.ask], { afterMs: 7, world });
    world.timers[0]!.work();
    second.answer('b');
    expect(await found).toBe('b');
    expect(first.signal!.reason).toBeInstanceOf(Outrun);
  });

  it('comes from the next at once where one has failed; where all have, all failures are told', async () => {
    const asked = [respondent(), respondent(), respondent()];
    const world = handTimers();
    const failure = firstAnswer(
      asked.map(({ ask }) => ask),
      { afterMs: 7, world },
    ).catch((error: unknown) => error);
    for (const [index, { fail }] of asked.entries()) {
      expect(asked.filter(({ signal }) => signal !== undefined)).toHaveLength(index + 1);
      fail(`${index}`);
      await turn();
    }
    expect(((await failure) as AggregateError).errors.map(({ message }: Error) => message)).toEqual([
      '0',
      '1',
      '2',
    ]);
  });

  it('is given up with the reason of the signal, and nobody else is asked', async () => {
    const [first, second] = [respondent(), respondent()];
    const world = handTimers();
    const controller = new AbortController();
    const found = firstAnswer([first.ask, second.ask], { afterMs: 7, world, signal: controller.signal });
    controller.abort(new Error('gone'));
    await expect(found).rejects.toThrow('gone');
    world.timers[0]!.work();
    expect(second.signal).toBeUndefined();
  });

  it("is nobody's where the signal has said so before", async () => {
    const first = respondent();
    const signal = AbortSignal.abort(new Error('gone before'));
    const found = firstAnswer([first.ask], { afterMs: 7, world: handTimers(), signal });
    await expect(found).rejects.toThrow('gone before');
    expect(first.signal).toBeUndefined();
  });
});

it('the next is asked after what 95 of 100 answers take, of the latest', () => {
  const times = createAnswerTimes();
  expect(times.mostMs()).toBe(HEDGE_FIRST_MS);
  for (let ms = 1; ms <= 100; ms += 1) times.add(1_000 * ms);
  const oldest = 101 - HEDGE_TIMES_MAX_COUNT;
  expect(times.mostMs()).toBe(1_000 * (oldest - 1 + Math.ceil(0.95 * HEDGE_TIMES_MAX_COUNT)));
  for (let count = 0; count < HEDGE_TIMES_MAX_COUNT; count += 1) times.add(1);
  expect(times.mostMs()).toBe(HEDGE_MIN_MS);
});
