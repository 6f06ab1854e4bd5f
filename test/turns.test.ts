// @module-tag fast

import { describe, expect, it } from 'vitest';
import { mapInTurns, pause } from '#src/turns.js';

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
});
