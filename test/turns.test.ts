// @module-tag fast

import { describe, expect, it } from 'vitest';
import { atOnce, inTurns, mapInTurns, pause, type Steps } from '#src/turns.js';

describe('work in turns', () => {
  it('runs one task at a time, with a round of the event loop between two tasks that pause', async () => {
    let round = 0;
    let isOver = false;
    const count = (): void => {
      round += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const rounds = await Promise.all(
      Array.from({ length: 10 }, async () => {
        await pause();
        return round;
      }),
    );
    isOver = true;
    expect(new Set(rounds).size).toBe(10);
  });

  it('returns the results of the work in order', async () => {
    const list = Array.from({ length: 1_000 }, (_, index) => index);
    const square = (value: number, index: number): number => value * index;
    expect(await mapInTurns(list, square)).toEqual(list.map(square));
  });

  it('pauses during long work, and fails if the work fails', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 0);
    const busy = (): void => {
      for (const endMs = performance.now() + 10; performance.now() < endMs;);
    };
    await mapInTurns([1, 2, 3, 4, 5, 6], busy);
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
    const fail = (): never => {
      throw new RangeError('no');
    };
    await expect(mapInTurns([1], fail)).rejects.toThrow(RangeError);
  });

  it('in steps gives one result with and without pauses, and ends at the pause after an abort', async () => {
    let done = 0;
    function* count(steps: number): Steps<number> {
      for (let step = 0; step < steps; step += 1) {
        for (const endMs = performance.now() + 2; performance.now() < endMs;);
        done += 1;
        yield;
      }
      return steps;
    }
    expect(atOnce(count(3))).toBe(3);
    let rounds = 0;
    const ticking = setInterval(() => (rounds += 1), 0);
    expect(await inTurns(count(20))).toBe(20);
    clearInterval(ticking);
    expect(rounds).toBeGreaterThan(3);
    done = 0;
    const controller = new AbortController();
    const left = new Error('The client has left.');
    setImmediate(() => controller.abort(left));
    await expect(inTurns(count(1_000), controller.signal)).rejects.toBe(left);
    expect(done).toBeLessThan(100);
  });
});
