import { randomBytes } from 'node:crypto';
import { newId, type EventPrefix } from './ids.js';

/**
 * Everything that requests do not determine: time, timers, randomness, and the order in which threads end. Created once
 * by the composition and passed down.
 */
export interface World {
  /** The wall clock, which may jump because people and time servers set it. */
  readonly now: () => Date;
  /** Monotonic milliseconds. */
  readonly monotonicMs: () => number;
  /** Calls back once, unless the returned function is called before. Keeps no process alive. */
  readonly setTimer: (ms: number, work: () => void) => () => void;
  /** Calls back periodically, until the returned function is called. Keeps no process alive. */
  readonly every: (ms: number, work: () => void) => () => void;
  /** In [0, 1). */
  readonly random: () => number;
  /** Returns unpredictable bytes. */
  readonly randomBytes: (count: number) => Buffer;
  readonly newId: (prefix: EventPrefix) => string;
  /** Awaits work of other threads. A simulation decides when such work ends. */
  readonly aside: <Result>(work: Promise<Result>) => Promise<Result>;
}

export const realWorld: World = Object.freeze<World>({
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  setTimer(ms, work) {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
  random: Math.random,
  randomBytes: (count) => randomBytes(count),
  newId,
  aside: (work) => work,
});
