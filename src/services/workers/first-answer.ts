import { linkAborts } from '../../abort.js';
import type { World } from '../../world.js';

/** Why one was cancelled: another has answered. */
export class Outrun extends Error {
  override readonly name = 'Outrun';
}

export interface HedgeOptions {
  /** How long one may say nothing before the next is asked, too. */
  readonly afterMs: number;
  readonly world: Pick<World, 'setTimer'>;
  readonly signal?: AbortSignal;
}

/**
 * The first answer of several who know the same. The next one is asked where one has failed, or has said nothing for a
 * while; when one has answered the others are cancelled.
 * Errors  AggregateError with the failures of all; the signal's reason
 * Source  hedged requests (Dean & Barroso 2013)
 */
export function firstAnswer<Value>(
  asks: readonly ((signal: AbortSignal) => Promise<Value>)[],
  { afterMs, world, signal }: HedgeOptions,
): Promise<Value> {
  const ending = linkAborts(...(signal === undefined ? [] : [signal]));
  return new Promise<Value>((resolve, reject) => {
    if (ending.signal.aborted) return reject(ending.signal.reason as Error);
    const failures: unknown[] = [];
    let askedCount = 0;
    let stopTimer = (): void => undefined;
    const askNext = (): void => {
      stopTimer();
      if (askedCount === asks.length || ending.signal.aborted) return;
      const ask = asks[askedCount];
      askedCount += 1;
      if (askedCount < asks.length) stopTimer = world.setTimer(afterMs, askNext);
      ask(ending.signal).then(resolve, (error: unknown) => {
        failures.push(error);
        if (signal?.aborted) reject(signal.reason as Error);
        else if (failures.length === asks.length)
          reject(new AggregateError(failures, 'Nobody has answered.'));
        else askNext();
      });
    };
    askNext();
  }).finally(() => {
    ending.release();
    ending.abort(new Outrun('Another was faster.'));
  });
}
