// @module-tag fast

import { describe, expect, it } from 'vitest';
import { StageClock } from '#bench/growth/stages.js';

describe('the clock of the stages', () => {
  it('charges time to the innermost stage at work, also if that fails, and time between stages to none', async () => {
    let micros = 1_000;
    const clock = new StageClock(() => micros);
    const spend = (milliseconds: number) => (micros += 1_000 * milliseconds);
    spend(5);
    await clock.in('judge', async () => {
      spend(2);
      await clock.in('control', () => Promise.resolve(spend(7)));
      const failing = clock.in('encode', () => Promise.reject(new Error(`${spend(3)}`)));
      await expect(failing).rejects.toThrow();
      spend(1);
    });
    spend(9);
    await clock.in('judge', () => Promise.resolve(spend(4)));
    const charged = (['judge', 'control', 'encode', 'pool'] as const).map((stage) =>
      clock.milliseconds(stage),
    );
    expect(charged).toEqual([7, 7, 3, 0]);
  });
});
