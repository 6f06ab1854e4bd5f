import { linkAborts } from '../../abort.js';
import type { World } from '../../world.js';

/** Reason with which an attempt is cancelled after another attempt has succeeded. */
export class Superseded extends Error {
  override readonly name = 'Superseded';
}

export interface HedgeOptions {
  /** Time without a response after which the next attempt starts. */
  readonly afterMs: number;
  readonly world: Pick<World, 'setTimer'>;
  readonly signal?: AbortSignal;
}

/**
 * Returns the first response of several equivalent attempts. The next attempt starts when the latest one has failed or
 * has not responded for `afterMs`. The first success cancels all other attempts.
 * Errors  AggregateError with the failures of all attempts; the signal's reason
 * Source  hedged requests (Dean & Barroso 2013)
 */
export function hedgedRequest<Value>(
  attempts: readonly ((signal: AbortSignal) => Promise<Value>)[],
  { afterMs, world, signal }: HedgeOptions,
): Promise<Value> {
  const ending = linkAborts(...(signal === undefined ? [] : [signal]));
  return new Promise<Value>((resolve, reject) => {
    if (ending.signal.aborted) return reject(ending.signal.reason as Error);
    const failures: unknown[] = [];
    let startedCount = 0;
    let stopTimer = (): void => undefined;
    const startNext = (): void => {
      stopTimer();
      if (startedCount === attempts.length || ending.signal.aborted) return;
      const attempt = attempts[startedCount];
      startedCount += 1;
      if (startedCount < attempts.length) stopTimer = world.setTimer(afterMs, startNext);
      attempt(ending.signal).then(resolve, (error: unknown) => {
        failures.push(error);
        if (signal?.aborted) reject(signal.reason as Error);
        else if (failures.length === attempts.length)
          reject(new AggregateError(failures, 'All attempts have failed.'));
        else startNext();
      });
    };
    startNext();
  }).finally(() => {
    ending.release();
    ending.abort(new Superseded('Another attempt was faster.'));
  });
}
