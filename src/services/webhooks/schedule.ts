const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Due times of the attempts after the event. Source  Standard Webhooks 1.0 */
export const ATTEMPTS_AT_MS = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/**
 * Pauses of an endpoint after its first missing response and after further ones. They equal the first retry intervals
 * of a delivery, so that a recovered endpoint gets deliveries soon.
 */
export const SILENT_WAIT_MS = 5 * SECOND_MS;
export const SILENT_AGAIN_WAIT_MS = 5 * MINUTE_MS;

/** Each wait is lengthened by at most this share, so that a recovered receiver does not get all deliveries at once. */
export const JITTER_MAX_RATIO = 0.1;

/** Longest wait for the next attempt of a delivery. */
export const WAIT_MAX_MS = 6 * HOUR_MS * (1 + JITTER_MAX_RATIO);

/**
 * Wait after this many attempts; undefined after the last one.
 * @param random in [0, 1)
 */
export function waitAfterAttempt(attemptCount: number, random: () => number): number | undefined {
  const next = ATTEMPTS_AT_MS[attemptCount];
  if (next === undefined) return undefined;
  return Math.round((next - ATTEMPTS_AT_MS[attemptCount - 1]) * (1 + JITTER_MAX_RATIO * random()));
}
