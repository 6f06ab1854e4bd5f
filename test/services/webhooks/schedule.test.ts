// @module-tag fast

import { describe, expect, it } from 'vitest';
import { ATTEMPTS_AT_MS, JITTER_MAX_RATIO, waitAfterAttempt } from '#src/services/webhooks/schedule.js';

const waits = (random: () => number) =>
  ATTEMPTS_AT_MS.map((_, index) => waitAfterAttempt(index + 1, random)).filter((wait) => wait !== undefined);
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('the schedule of a delivery', () => {
  it('is that of Standard Webhooks: ten attempts within a day, the first at once', () => {
    expect(ATTEMPTS_AT_MS).toHaveLength(10);
    expect(ATTEMPTS_AT_MS[0]).toBe(0);
    expect(sum(waits(() => 0))).toBe(24 * 60 * 60 * 1000);
    expect(waits(() => 0).slice(0, 3)).toEqual([5_000, 295_000, 1_500_000]);
  });

  it('ends after the last attempt', () => {
    expect(waitAfterAttempt(ATTEMPTS_AT_MS.length - 1, () => 0)).toBeGreaterThan(0);
    expect(waitAfterAttempt(ATTEMPTS_AT_MS.length, () => 0)).toBeUndefined();
  });

  it('has random jitter that lengthens each wait by at most a tenth', () => {
    const nominal = waits(() => 0);
    const stretched = waits(() => 0.999_999);
    for (const [index, wait] of stretched.entries()) {
      expect(wait).toBeGreaterThan(nominal[index]);
      expect(wait).toBeLessThanOrEqual(nominal[index] * (1 + JITTER_MAX_RATIO));
    }
  });
});
