import { Refusal } from '../../errors.js';

/** Buckets that are kept; the one used longest ago goes first. */
const BUCKETS_MAX_COUNT = 100_000;

export interface RequestRateLimits {
  /** Requests that one key may send at once after a quiet time, and again per window. 1.. */
  readonly requestQuota: number;
  /** Unit seconds. */
  readonly requestWindowSeconds: number;
}

interface Bucket {
  tokens: number;
  refilledAtMs: number;
}

/**
 * A token bucket for each key, refilled evenly.
 * Errors  the returned function throws Refusal `rate_limit_exceeded` while the key's bucket is empty
 */
export function createRequestRate(limits: RequestRateLimits, nowMs: () => number): (keyId: string) => void {
  const { requestQuota: quota, requestWindowSeconds: window } = limits;
  const buckets = new Map<string, Bucket>();
  return (keyId) => {
    const now = nowMs();
    const bucket = buckets.get(keyId) ?? { tokens: quota, refilledAtMs: now };
    const refill = ((now - bucket.refilledAtMs) / 1000) * (quota / window);
    bucket.tokens = Math.min(quota, bucket.tokens + refill);
    bucket.refilledAtMs = now;
    // Set last, so that the first key of the map is the one that asked longest ago.
    buckets.delete(keyId);
    buckets.set(keyId, bucket);
    if (buckets.size > BUCKETS_MAX_COUNT) buckets.delete(buckets.keys().next().value as string);
    if (bucket.tokens < 1) {
      throw new Refusal(
        'rate_limit_exceeded',
        `The key has sent more than ${quota} requests in ${window} s.`,
        {
          retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) * (window / quota))),
          policy: { name: 'request', quota, window_seconds: window },
        },
      );
    }
    bucket.tokens -= 1;
  };
}
