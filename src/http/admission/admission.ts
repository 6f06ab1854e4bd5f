import { Counts } from '../../counts.js';
import { Refusal } from '../../errors.js';
import { OPEN_ORGANIZATION } from '../../limits.js';
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
  /**
   * Counts an entered request for its organization, so that one organization leaves slots to the others: it may have
   * half of them, and visitors without a key a quarter. Returns the function that ends the count.
   * Errors  Refusal `queue_full`
   */
  enterAs(organizationId: string): () => void;
  /** Takes one token from the bucket of the key. Errors  Refusal `rate_limit_exceeded` */
  takeRequest(keyId: string): void;
  readonly executions: ExecutionQueue;
}

const DEFAULT_REQUESTS_AT_WORK = 512;

/** @param nowMs monotonic, in milliseconds */
export function createAdmission(limits: AdmissionLimits, nowMs: () => number): Admission {
  const mostAtWork = limits.requestsAtWork ?? DEFAULT_REQUESTS_AT_WORK;
  let atWork = 0;
  const atWorkAs = new Counts();
  return {
    enter() {
      if (atWork >= mostAtWork) throw queueFull('The server', mostAtWork);
      atWork += 1;
      return () => {
        atWork -= 1;
      };
    },
    enterAs(organizationId) {
      const most = Math.ceil(mostAtWork / (organizationId === OPEN_ORGANIZATION ? 4 : 2));
      if (atWorkAs.of(organizationId) >= most) throw queueFull('The organization', most);
      atWorkAs.add(organizationId, 1);
      return () => atWorkAs.add(organizationId, -1);
    },
    takeRequest: createRequestRate(limits, nowMs),
    executions: new ExecutionQueue(limits, nowMs),
  };
}

function queueFull(whose: string, quota: number): Refusal {
  return new Refusal('queue_full', `${whose} has too many requests at work.`, {
    retryAfterSeconds: 1,
    policy: { name: 'queue', quota, quota_unit: 'concurrent-requests' },
  });
}
