import { HEDGE_FIRST_MS, HEDGE_MIN_MS, HEDGE_TIMES_MAX_COUNT, HEDGE_TIMES_MIN_COUNT } from '../../limits.js';

/** How long the latest answers took. */
export function createAnswerTimes() {
  const times: number[] = [];
  return {
    add(ms: number): void {
      times.push(ms);
      if (times.length > HEDGE_TIMES_MAX_COUNT) times.shift();
    },
    /**
     * What 95 of 100 take at most.
     * Unit  milliseconds; HEDGE_FIRST_MS until enough is known, HEDGE_MIN_MS at the least
     */
    mostMs(): number {
      if (times.length < HEDGE_TIMES_MIN_COUNT) return HEDGE_FIRST_MS;
      const sorted = times.toSorted((a, b) => a - b);
      return Math.max(HEDGE_MIN_MS, sorted[Math.ceil(0.95 * sorted.length) - 1]);
    },
  };
}
