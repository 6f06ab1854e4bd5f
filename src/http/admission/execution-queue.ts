import { Refusal } from '../../errors.js';
import { createOverload, type Overload } from './overload.js';

export interface ExecutionLimits {
  /** Executions at work at once, over all keys. 1.. */
  readonly concurrentExecutions: number;
  /** Executions that wait at most, over all keys. 0.. */
  readonly queuedExecutions: number;
  /** Executions of one key, waiting or at work. 1.. */
  readonly executionsPerKey: number;
}

/** A place in the bounded queue. */
export interface Place {
  /**
   * Waits for the turn.
   * Errors  Refusal `start_deadline_exceeded` when the turn has not come in time; rejects with the signal's reason
   */
  start(signal: AbortSignal, startDeadlineMs: number | undefined): Promise<void>;
  /** Gives the place back; a second call does nothing. */
  leave(): void;
}

export interface ExecutionQueue {
  /** Looks before anybody is known. Errors  Refusal `queue_full` */
  requireSpace(): void;
  /** Looks before a body is read. Errors  Refusal `queue_full`, `execution_limit_exceeded` */
  requireRoom(keyId: string): void;
  /** Takes a place, at once. Errors  those of requireRoom */
  takePlace(keyId: string): Place;
  counts(): { readonly running: number; readonly waiting: number };
}

/** @param nowMs monotonic, in milliseconds */
export function createExecutionQueue(limits: ExecutionLimits, nowMs: () => number): ExecutionQueue {
  const { concurrentExecutions, queuedExecutions, executionsPerKey } = limits;
  const heldByKey = new Map<string, number>();
  const line: (() => void)[] = [];
  let running = 0;
  let places = 0;
  const overload = createOverload(concurrentExecutions, nowMs);
  const overloadByKey = new Map<string, Overload>();

  const requireSpace = (): void => {
    const most = overload.bound(concurrentExecutions + queuedExecutions);
    if (places < most) return;
    overload.noteRefused();
    throw capacityRefusal('queue_full', 'queue', most);
  };
  const requireRoom = (keyId: string): void => {
    requireSpace();
    const ofKey = overloadByKey.get(keyId);
    if (ofKey?.isOver()) overloadByKey.delete(keyId);
    const most = ofKey?.bound(executionsPerKey) ?? executionsPerKey;
    if ((heldByKey.get(keyId) ?? 0) < most) return;
    const overrun = ofKey ?? createOverload(concurrentExecutions, nowMs);
    overrun.noteRefused();
    overloadByKey.set(keyId, overrun);
    throw capacityRefusal('execution_limit_exceeded', 'execution', most);
  };
  const hold = (keyId: string, change: 1 | -1): void => {
    places += change;
    const held = (heldByKey.get(keyId) ?? 0) + change;
    if (held === 0) heldByKey.delete(keyId);
    else heldByKey.set(keyId, held);
  };
  /** Hands the turn over, so that nobody can slip in between the two. */
  const endTurn = (): void => {
    const next = line.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  return {
    requireSpace,
    requireRoom,
    takePlace(keyId) {
      requireRoom(keyId);
      hold(keyId, 1);
      overload.noteTaken();
      overloadByKey.get(keyId)?.noteTaken();
      let state: 'held' | 'running' | 'left' = 'held';
      return {
        async start(signal, startDeadlineMs) {
          if (startDeadlineMs !== undefined && nowMs() >= startDeadlineMs) throw deadlineRefusal();
          if (running < concurrentExecutions) running += 1;
          else await turn(line, signal, startDeadlineMs, nowMs);
          state = 'running';
        },
        leave() {
          if (state === 'left') return;
          if (state === 'running') endTurn();
          state = 'left';
          hold(keyId, -1);
        },
      };
    },
    counts: () => ({ running, waiting: line.length }),
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

function capacityRefusal(
  code: 'queue_full' | 'execution_limit_exceeded',
  name: string,
  quota: number,
): Refusal {
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
