import { Refusal } from '../../errors.js';
import { ExecutionQueue, type ExecutionLimits } from './execution-queue.js';
import { createRequestRate, type RequestRateLimits } from './request-rate.js';

/** Bounds of what the shell lets in. */
export interface AdmissionLimits extends RequestRateLimits, ExecutionLimits {
  /** Requests at work at once, of all kinds and keys, waiting ones included. Default 512 */
  readonly requestsAtWork?: number;
}

export interface Admission {
  /**
   * Takes one of the places for requests at work, before anything is read or looked up; the result gives it back.
   * Errors  Refusal `queue_full`
   */
  enter(): () => void;
  /** Takes one request from the key's bucket. Errors  Refusal `rate_limit_exceeded` */
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
