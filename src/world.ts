import { randomBytes } from 'node:crypto';
import { newId, type EventPrefix } from './ids.js';

/**
 * What is not decided by what was asked: time, timers, randomness, and in which order threads end. Made once, passed
 * down from the composition.
 */
export interface World {
  /** The wall clock, which people and peers set: it may jump. */
  readonly now: () => Date;
  /** Milliseconds that only grow. */
  readonly monotonicMs: () => number;
  /** Calls back once, unless the result is called before. Keeps no process alive. */
  readonly setTimer: (ms: number, work: () => void) => () => void;
  /** Calls back again and again, until the result is called. Keeps no process alive. */
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
