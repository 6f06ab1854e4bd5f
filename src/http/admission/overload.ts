/** Unit milliseconds since the last refusal. */
const OVERLOAD_END_MS = 1_000;
/** At this share of refusals, the next request arrives so soon after a turn is free that waiting gains nothing. */
const HEAVY_REFUSED_SHARE = 0.7;
/** Weight of one request in the exponential mean: the mean covers about the last hundred requests. */
const SHARE_WEIGHT = 1 / 64;

/** The overload state of one bounded queue, or of one key's share of it. */
export interface Overload {
  /** Returns how many requests may hold slots now. `most` is the number without overload. */
  bound(most: number): number;
  noteTaken(): void;
  noteRefused(): void;
  isOver(): boolean;
}

/**
 * Detects an overload behind a burst. A queue that overflows makes every answer late without serving more requests.
 * After a refusal, only as many requests may wait as run, until one second passes without a refusal. No request may
 * wait while most are refused. Accepted requests then take about as long as in a quiet server. Under a light overload,
 * a queue without waiting requests would leave turns unused.
 *
 * @param concurrency turns at once
 * @param nowMs monotonic, in milliseconds
 */
export function createOverload(concurrency: number, nowMs: () => number): Overload {
  let lastRefusedMs = -Infinity;
  let refusedShare = 0;
  const isOver = (): boolean => nowMs() - lastRefusedMs > OVERLOAD_END_MS;
  const note = (refused: 0 | 1): void => {
    refusedShare += (refused - refusedShare) * SHARE_WEIGHT;
  };
  return {
    bound(most) {
      if (isOver()) return most;
      return Math.min(most, refusedShare > HEAVY_REFUSED_SHARE ? concurrency : 2 * concurrency);
    },
    noteTaken: () => note(0),
    noteRefused() {
      if (isOver()) refusedShare = 0;
      lastRefusedMs = nowMs();
      note(1);
    },
    isOver,
  };
}
