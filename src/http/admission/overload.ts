/** Unit milliseconds since the last refusal. */
const OVERLOAD_END_MS = 1_000;
/** From this share of refusals on, the next request comes so soon after a turn is free that none need wait for it. */
const HEAVY_REFUSED_SHARE = 0.7;
/** Of each request in the running share: it tells of the last hundred or so. */
const SHARE_WEIGHT = 1 / 64;

/** What one bounded queue, or one key's part of it, knows of being overrun. */
export interface Overload {
  /** How many may hold places now, of `most` in quiet times. */
  bound(most: number): number;
  noteTaken(): void;
  noteRefused(): void;
  isOver(): boolean;
}

/**
 * A queue that overflows holds no burst but an overload: to wait in it only makes every answer late. From a refusal on,
 * until nobody has been refused for a second, no more may wait than are at work; and none while most are refused, so
 * that what is let in takes about as long as ever. Under a light overload a turn would stay unused without any wait.
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
