import * as fastq from 'fastq';
import type { queueAsPromised } from 'fastq';
import { createFairLine, type WaitingRun } from './line.js';

/** A run that wants a further turn. */
export interface RunTurn {
  /** Not before this has settled. */
  readonly after?: Promise<unknown>;
}

/** Gives waiting runs their turns, a bounded number at once. */
export interface RunQueue {
  add(run: WaitingRun): void;
  /** Takes a run out that waits; one that has its turn is not touched. */
  remove(id: string): void;
  /** Gives no further turns and resolves when those that were given have ended. */
  stop(): Promise<void>;
}

/**
 * @param step        one piece of the run's work, and whether it wants a further turn. Must not reject
 * @param concurrency turns at once, 1..
 */
export function createRunQueue(
  step: (run: WaitingRun) => Promise<RunTurn | undefined>,
  concurrency: number,
): RunQueue {
  const line = createFairLine();
  let isStopping = false;
  const serve = async (): Promise<void> => {
    const run = isStopping ? undefined : line.take();
    if (run === undefined) return;
    const turn = await step(run);
    if (turn === undefined) return;
    if (turn.after === undefined) return add(run);
    const again = (): void => add(run);
    void turn.after.then(again, again);
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
