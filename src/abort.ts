import { setMaxListeners } from 'node:events';

/**
 * Waits for what is promised, but no longer than until the signal aborts. The work itself is not ended by it.
 * Errors  those of the work; the signal's reason, at once
 */
export function untilAborted<Value>(promised: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promised;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promised.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  });
}

/** The end of one piece of work: its own, and that of what it is part of. */
export interface LinkedAbort {
  /** Aborts with the reason that came first. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Removes the listeners from the outer signals. Must be called when the work has ended. */
  readonly release: () => void;
}

/**
 * An abort that also follows outer signals, until it is released. Outer signals may live as long as the process:
 * AbortSignal.any would be shorter, and some Node versions never free what hangs on one of those.
 */
export function linkAborts(...outer: readonly AbortSignal[]): LinkedAbort {
  const controller = new AbortController();
  const release = (): void => {
    for (const signal of outer) signal.removeEventListener('abort', follow);
  };
  const follow = (): void => {
    controller.abort(outer.find(({ aborted }) => aborted)?.reason);
    release();
  };
  // One listener for each piece of work; a leak shows where one is not released.
  setMaxListeners(0, ...outer);
  for (const signal of outer) signal.addEventListener('abort', follow, { once: true });
  if (outer.some(({ aborted }) => aborted)) follow();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), release };
}
