import { HEDGE_FIRST_MS, HEDGE_MIN_MS, HEDGE_TIMES_MAX_COUNT, HEDGE_TIMES_MIN_COUNT } from '../../limits.js';

export interface AnswerTimes {
  add(ms: number): void;
  /**
   * What 95 of 100 take at most.
   * Unit  milliseconds; HEDGE_FIRST_MS until enough is known, HEDGE_MIN_MS at the least
   */
  mostMs(): number;
}

/** How long the latest answers took. */
export function createAnswerTimes(): AnswerTimes {
  const times: number[] = [];
  return {
    add(ms) {
      times.push(ms);
      if (times.length > HEDGE_TIMES_MAX_COUNT) times.shift();
    },
    mostMs() {
      if (times.length < HEDGE_TIMES_MIN_COUNT) return HEDGE_FIRST_MS;
      const sorted = times.toSorted((a, b) => a - b);
      return Math.max(HEDGE_MIN_MS, sorted[Math.ceil(0.95 * sorted.length) - 1]);
    },
  };
}
