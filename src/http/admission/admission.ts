import { Refusal } from '../../errors.js';
import { ExecutionQueue, type ExecutionLimits } from './execution-queue.js';
import { createRequestRate, type RequestRateLimits } from './request-rate.js';

/** Limits on the requests that the shell accepts. */
export interface AdmissionLimits extends RequestRateLimits, ExecutionLimits {
  /** Requests in progress at once, over all kinds and keys, waiting requests included. Default 512 */
  readonly requestsAtWork?: number;
}

export interface Admission {
  /**
   * Reserves one of the slots for requests in progress before the request is read. Returns the function that frees the
   * slot.
   * Errors  Refusal `queue_full`
   */
  enter(): () => void;
  /** Takes one token from the bucket of the key. Errors  Refusal `rate_limit_exceeded` */
  takeRequest(keyId: string): void;
  readonly executions: ExecutionQueue;
}

const DEFAULT_REQUESTS_AT_WORK = 512;

/** @param nowMs monotonic, in milliseconds */
export function createAdmission(limits: AdmissionLimits, nowMs: () => number): Admission {
  const mostAtWork = limits.requestsAtWork ?? DEFAULT_REQUESTS_AT_WORK;
  let atWork = 0;
  return {
    enter() {
      if (atWork >= mostAtWork) {
        throw new Refusal('queue_full', 'The server has too many requests at work.', {
          retryAfterSeconds: 1,
          policy: { name: 'queue', quota: mostAtWork, quota_unit: 'concurrent-requests' },
        });
      }
      atWork += 1;
      return () => {
        atWork -= 1;
      };
    },
    takeRequest: createRequestRate(limits, nowMs),
    executions: new ExecutionQueue(limits, nowMs),
  };
}
