import { Counts } from '../../counts.js';
import { Refusal } from '../../errors.js';
import { OPEN_EXECUTIONS_MAX_COUNT, OPEN_ORGANIZATION } from '../../limits.js';
import { createOverload, type Overload } from './overload.js';

export interface ExecutionLimits {
  /** Executions that run at once, over all keys. 1.. */
  readonly concurrentExecutions: number;
  /** Largest number of waiting executions, over all keys. 0.. */
  readonly queuedExecutions: number;
  /** Executions of one key, waiting or running. 1.. */
  readonly executionsPerKey: number;
}

/** A slot in the bounded queue. */
export interface Place {
  /**
   * Waits until the execution may start.
   * Errors  Refusal `start_deadline_exceeded` when the deadline passes first; rejects with the signal's reason
   */
  start(signal: AbortSignal, startDeadlineMs: number | undefined): Promise<void>;
  /** Frees the slot. A second call is a no-op. */
  readonly leave: () => void;
}

/** The executions that run or wait, first in, first out. */
export class ExecutionQueue {
  readonly #limits: ExecutionLimits;
  readonly #nowMs: () => number;
  readonly #heldByKey = new Counts();
  readonly #line: (() => void)[] = [];
  readonly #overload: Overload;
  readonly #overloadByKey = new Map<string, Overload>();
  #running = 0;
  #places = 0;

  /** @param nowMs monotonic, in milliseconds */
  constructor(limits: ExecutionLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#overload = createOverload(limits.concurrentExecutions, nowMs);
  }

  /** Checks the length of the queue before the key is known. Errors  Refusal `queue_full` */
  requireSpace(): void {
    const { concurrentExecutions, queuedExecutions } = this.#limits;
    const most = this.#overload.bound(concurrentExecutions + queuedExecutions);
    if (this.#places < most) return;
    this.#overload.noteRefused();
    throw capacityRefusal('queue_full', 'queue', most);
  }

  /**
   * Checks the queue and the share of the key before the body is read. Errors  Refusal `queue_full`,
   * `execution_limit_exceeded`
   */
  requireRoom(keyId: string): void {
    this.requireSpace();
    const { concurrentExecutions } = this.#limits;
    const executionsPerKey = this.#executionsOf(keyId);
    const ofKey = this.#overloadByKey.get(keyId);
    if (ofKey?.isOver()) this.#overloadByKey.delete(keyId);
    const most = ofKey?.bound(executionsPerKey) ?? executionsPerKey;
    if (this.#heldByKey.of(keyId) < most) return;
    const overrun = ofKey ?? createOverload(concurrentExecutions, this.#nowMs);
    overrun.noteRefused();
    this.#overloadByKey.set(keyId, overrun);
    throw capacityRefusal('execution_limit_exceeded', 'execution', most);
  }

  /** Takes a slot without waiting. Errors  those of requireRoom */
  takePlace(keyId: string): Place {
    this.requireRoom(keyId);
    this.#hold(keyId, 1);
    this.#overload.noteTaken();
    this.#overloadByKey.get(keyId)?.noteTaken();
    let state: 'held' | 'running' | 'left' = 'held';
    return {
      start: async (signal, startDeadlineMs) => {
        await this.#startTurn(signal, startDeadlineMs);
        state = 'running';
      },
      leave: () => {
        if (state === 'left') return;
        if (state === 'running') this.#endTurn();
        state = 'left';
        this.#hold(keyId, -1);
      },
    };
  }

  counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#line.length };
  }

  async #startTurn(signal: AbortSignal, startDeadlineMs: number | undefined): Promise<void> {
    if (startDeadlineMs !== undefined && this.#nowMs() >= startDeadlineMs) throw deadlineRefusal();
    if (this.#running < this.#limits.concurrentExecutions) this.#running += 1;
    else await turn(this.#line, signal, startDeadlineMs, this.#nowMs);
  }

  /** Passes the turn to the next waiting execution in the same step, so that no other request can take it. */
  #endTurn(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }

  /** All visitors without a key share one small quota. */
  #executionsOf(keyId: string): number {
    const { executionsPerKey } = this.#limits;
    return keyId === OPEN_ORGANIZATION
      ? Math.min(executionsPerKey, OPEN_EXECUTIONS_MAX_COUNT)
      : executionsPerKey;
  }

  #hold(keyId: string, change: 1 | -1): void {
    this.#places += change;
    this.#heldByKey.add(keyId, change);
  }
}

/** A timer of Node ends at once if it is set to more milliseconds than this, which are 24 days. */
const TIMER_MAX_MS = 2 ** 31 - 1;

function timerMs(ms: number): number {
  return Math.min(TIMER_MAX_MS, Math.max(0, ms));
}

/** Waits in the queue. An execution that gives up leaves the queue, so that no turn is lost. */
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
        : setTimeout(() => giveUp(deadlineRefusal()), timerMs(startDeadlineMs - nowMs()));
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
