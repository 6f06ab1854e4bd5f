import { setTimeout as pause } from 'node:timers/promises';
import { untilAborted } from '../abort.js';
import { GPU_BUSY_MAX_ATTEMPTS, GPU_BUSY_PAUSE_MS } from '../limits.js';

/** Work that shares the memory of the GPUs, and work that finds room there only when the rest has ended. */
export interface Turns {
  /**
   * Beside all other work or, where that leaves no room, alone: when what is at work has ended, and before what comes
   * later. Work at work never waits for other work, so every wait ends.
   * Errors  those of the work; the signal's reason, at once
   */
  take<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

/** The predicate tells the error of work that did nothing because others have what it needs. */
export function createTurns(isBusy: (error: unknown) => boolean): Turns {
  const atWork = new Set<Promise<unknown>>();
  /** Resolves when all that asked to be alone have been. */
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

/** A search that was cancelled has its memory until its threads have stopped, although nobody waits for it any more. */
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
