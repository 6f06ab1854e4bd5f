import * as fastq from 'fastq';
import type { queueAsPromised } from 'fastq';
import { createFairLine, type WaitingRun } from './runs-line.js';

/** Gives waiting runs their turns, a bounded number at once. */
export interface RunQueue {
  add(run: WaitingRun): void;
  /** Takes a run out that waits; one that has its turn is not touched. */
  remove(id: string): void;
  /** Gives no further turns and resolves when those that were given have ended. */
  stop(): Promise<void>;
}

/**
 * @param step        one piece of the run's work; true where it wants a further turn. Must not reject
 * @param concurrency turns at once, 1..
 */
export function createRunQueue(step: (run: WaitingRun) => Promise<boolean>, concurrency: number): RunQueue {
  const line = createFairLine();
  let isStopping = false;
  const serve = async (): Promise<void> => {
    const run = isStopping ? undefined : line.take();
    if (run === undefined) return;
    if (await step(run)) add(run);
  };
  // fastq bounds what runs at once; which run a turn goes to is decided when it comes, not when it is asked for.
  const turns: queueAsPromised<void> = fastq.promise(serve, concurrency);
  const add = (run: WaitingRun): void => {
    line.add(run);
    void turns.push();
  };
  return {
    add,
    remove: (id) => line.remove(id),
    async stop() {
      isStopping = true;
      await turns.drained();
    },
  };
}
