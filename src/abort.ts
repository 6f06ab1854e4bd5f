import { setMaxListeners } from 'node:events';

/**
 * Waits for a promise until the signal aborts. The abort does not end the work itself.
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

/** Abort signal of one piece of work, which also aborts with the work that it is part of. */
export interface LinkedAbort {
  /** Aborts with the reason of the first abort. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Removes the listeners from the outer signals. Must be called when the work has ended. */
  readonly release: () => void;
}

/**
 * An abort that also follows outer signals, until it is released. AbortSignal.any would be shorter, but outer signals
 * may live as long as the process, and some Node versions never free the signals that depend on one.
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
  // Each piece of work adds one listener, so many listeners are no leak.
  setMaxListeners(0, ...outer);
  for (const signal of outer) signal.addEventListener('abort', follow, { once: true });
  if (outer.some(({ aborted }) => aborted)) follow();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), release };
}
