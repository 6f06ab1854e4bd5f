import { HEDGE_FIRST_MS, HEDGE_MIN_MS, HEDGE_TIMES_MAX_COUNT, HEDGE_TIMES_MIN_COUNT } from '../../limits.js';

export interface ResponseTimes {
  add(ms: number): void;
  /**
   * 95th percentile of the latest response times, after which a request is hedged.
   * Unit   milliseconds
   * Range  ≥ HEDGE_MIN_MS; HEDGE_FIRST_MS before HEDGE_TIMES_MIN_COUNT responses
   */
  percentile95Ms(): number;
}

/** Records the latest HEDGE_TIMES_MAX_COUNT response times. */
export function createResponseTimes(): ResponseTimes {
  const times: number[] = [];
  return {
    add(ms) {
      times.push(ms);
      if (times.length > HEDGE_TIMES_MAX_COUNT) times.shift();
    },
    percentile95Ms() {
      if (times.length < HEDGE_TIMES_MIN_COUNT) return HEDGE_FIRST_MS;
      const sorted = times.toSorted((a, b) => a - b);
      return Math.max(HEDGE_MIN_MS, sorted[Math.ceil(0.95 * sorted.length) - 1]);
    },
  };
}
