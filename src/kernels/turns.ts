import { setTimeout as pause } from 'node:timers/promises';
import { untilAborted } from '../abort.js';
import { GPU_BUSY_MAX_ATTEMPTS, GPU_BUSY_PAUSE_MS } from '../limits.js';

/** Runs work that shares the GPU memory, and work that fits there only alone. */
export interface Turns {
  /**
   * Runs work beside all other work. If there is no room, it runs alone: after the running work and before later work.
   * Running work never waits for other work, so every wait ends.
   * Errors  those of the work; the signal's reason, at once
   */
  take<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

/** @param isBusy  whether work failed without effect because other work has the memory that it needs */
export function createTurns(isBusy: (error: unknown) => boolean): Turns {
  const atWork = new Set<Promise<unknown>>();
  /** Resolves when all work that must run alone has ended. */
  let gate: Promise<unknown> = Promise.resolve();

  const share = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const shared = work().finally(() => atWork.delete(shared));
    atWork.add(shared);
    return shared;
  };
  const beAlone = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = gate.then(() => Promise.allSettled(atWork)).then(() => persist(work, isBusy));
    gate = turn.catch(() => undefined);
    return turn;
  };
  return {
    async take(work, signal) {
      signal?.throwIfAborted();
      const turn = gate
        .then(() => share(work))
        .catch((error: unknown) => {
          if (isBusy(error)) return beAlone(work);
          throw error;
        });
      return untilAborted(turn, signal);
    },
  };
}

/** Retries while the memory is busy: a cancelled search holds its memory until its threads have stopped. */
async function persist<Result>(
  work: () => Promise<Result>,
  isBusy: (error: unknown) => boolean,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || attempt === GPU_BUSY_MAX_ATTEMPTS) throw error;
    }
    await pause(GPU_BUSY_PAUSE_MS);
  }
}
