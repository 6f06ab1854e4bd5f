import { Refusal } from '../errors.js';

/** Bounds of what the shell lets in. */
export interface AdmissionLimits {
  /** Requests that one key may send at once after a quiet time, and again per window. 1.. */
  readonly requestQuota: number;
  /** Unit seconds. */
  readonly requestWindowSeconds: number;
  /** Executions at work at once, over all keys. 1.. */
  readonly concurrentExecutions: number;
  /** Executions that wait at most, over all keys. 0.. */
  readonly queuedExecutions: number;
  /** Executions of one key, waiting or at work. 1.. */
  readonly executionsPerKey: number;
}

/** A place in the bounded queue, held from admission until the response is made. */
export interface Place {
  /**
   * Waits for the turn.
   * Errors  Refusal `start_deadline_exceeded` when the turn has not come in time; rejects with the signal's reason
   */
  start(signal: AbortSignal, startDeadlineMs: number | undefined): Promise<void>;
  /** Gives the place back; a second call does nothing. */
  leave(): void;
}

export interface Admission {
  /** Takes one request from the key's bucket. Errors  Refusal `rate_limit_exceeded` */
  takeRequest(keyId: string): void;
  /** Takes a place in the queue, at once. Errors  Refusal `queue_full`, `execution_limit_exceeded` */
  takePlace(keyId: string): Place;
  counts(): { readonly running: number; readonly waiting: number };
}

interface Bucket {
  tokens: number;
  refilledAtMs: number;
}

/** Buckets that are kept; the one used longest ago goes first. */
const BUCKETS_MAX_COUNT = 100_000;

/** @param nowMs monotonic, in milliseconds */
export function createAdmission(limits: AdmissionLimits, nowMs: () => number): Admission {
  const buckets = new Map<string, Bucket>();
  const held = new Map<string, number>();
  const waiting: (() => void)[] = [];
  let running = 0;
  let places = 0;

  /** Hands the turn over, so that nobody can slip in between the two. */
  const endTurn = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return {
    takeRequest(keyId) {
      const { requestQuota: quota, requestWindowSeconds: window } = limits;
      const now = nowMs();
      const bucket = buckets.get(keyId) ?? { tokens: quota, refilledAtMs: now };
      bucket.tokens = Math.min(
        quota,
        bucket.tokens + ((now - bucket.refilledAtMs) / 1000) * (quota / window),
      );
      bucket.refilledAtMs = now;
      // Set last, so that the first key of the map is the one that asked longest ago.
      buckets.delete(keyId);
      buckets.set(keyId, bucket);
      if (buckets.size > BUCKETS_MAX_COUNT) buckets.delete(buckets.keys().next().value as string);
      if (bucket.tokens < 1) {
        const waitSeconds = Math.max(1, Math.ceil((1 - bucket.tokens) * (window / quota)));
        throw new Refusal(
          'rate_limit_exceeded',
          `The key has sent more than ${quota} requests in ${window} s.`,
          {
            retryAfterSeconds: waitSeconds,
            policy: { name: 'request', quota, window_seconds: window },
          },
        );
      }
      bucket.tokens -= 1;
    },
    takePlace(keyId) {
      const ofKey = held.get(keyId) ?? 0;
      const capacity = limits.concurrentExecutions + limits.queuedExecutions;
      if (places >= capacity) throw capacityRefusal('queue_full', 'queue', capacity);
      if (ofKey >= limits.executionsPerKey) {
        throw capacityRefusal('execution_limit_exceeded', 'execution', limits.executionsPerKey);
      }
      held.set(keyId, ofKey + 1);
      places += 1;
      let state: 'held' | 'running' | 'left' = 'held';
      return {
        async start(signal, startDeadlineMs) {
          if (startDeadlineMs !== undefined && nowMs() >= startDeadlineMs) throw deadlineRefusal();
          if (running < limits.concurrentExecutions) running += 1;
          else await turn(waiting, signal, startDeadlineMs, nowMs);
          state = 'running';
        },
        leave() {
          if (state === 'left') return;
          if (state === 'running') endTurn();
          state = 'left';
          places -= 1;
          const left = (held.get(keyId) ?? 1) - 1;
          if (left === 0) held.delete(keyId);
          else held.set(keyId, left);
        },
      };
    },
    counts: () => ({ running, waiting: waiting.length }),
  };
}

/** Waits in line; whoever gives up leaves the line, so that no turn is lost on it. */
function turn(
  line: (() => void)[],
  signal: AbortSignal,
  startDeadlineMs: number | undefined,
  nowMs: () => number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown): void => {
      const index = line.indexOf(start);
      if (index !== -1) line.splice(index, 1);
      finish();
      reject(reason as Error);
    };
    const onAbort = (): void => giveUp(signal.reason);
    const timer =
      startDeadlineMs === undefined
        ? undefined
        : setTimeout(() => giveUp(deadlineRefusal()), Math.max(0, startDeadlineMs - nowMs()));
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const start = (): void => {
      finish();
      resolve();
    };
    if (signal.aborted) return giveUp(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    line.push(start);
  });
}

function capacityRefusal(code: string, name: string, quota: number): Refusal {
  const whose = name === 'execution' ? ' for one key' : '';
  return new Refusal(code, `No more than ${quota} executions may wait or be at work${whose}.`, {
    retryAfterSeconds: 1,
    policy: { name, quota, quota_unit: 'concurrent-requests' },
  });
}

function deadlineRefusal(): Refusal {
  return new Refusal(
    'start_deadline_exceeded',
    'Work could not start within Service-Request-Timeout. Allow more time, or ask again later.',
    { retryAfterSeconds: 1 },
  );
}
