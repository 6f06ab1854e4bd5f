import { Refusal } from '../../errors.js';

/** Token buckets in memory. The bucket that was used longest ago is dropped first. */
const BUCKETS_MAX_COUNT = 100_000;

export interface RequestRateLimits {
  /** Token bucket of one key: burst size, and refill per window. 1.. */
  readonly requestQuota: number;
  /** Unit seconds. */
  readonly requestWindowSeconds: number;
}

interface Bucket {
  tokens: number;
  refilledAtMs: number;
}

/**
 * One token bucket a key, refilled evenly.
 * Errors  the returned function throws Refusal `rate_limit_exceeded` while the bucket of the key is empty
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
    // The key is set last, so that the first key of the map is the one that was used longest ago.
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
