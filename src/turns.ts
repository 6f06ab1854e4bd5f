/*
 * Cooperative scheduling on the event loop: work of more than a few milliseconds is divided into slices. Paused tasks
 * resume one per iteration of the loop, so that slices of several tasks never block the loop in a row.
 */

/** Duration of a slice before it pauses. */
const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/** Resolves after other tasks have run. Errors  none */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}

/** Reports when a slice has worked long enough. Cost  one read of the clock, about 50 ns */
export class Slice {
  #endMs = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#endMs;
  }

  /** Lets other tasks run, then starts the next slice. Errors  none */
  async pause(): Promise<void> {
    await pause();
    this.#endMs = performance.now() + SLICE_MS;
  }
}

/** Work that yields wherever it may pause: one body for callers that take turns and for those that do not. */
export type Steps<Result> = Generator<undefined, Result>;

/** Does the work in slices. Errors  those of the work; the signal's reason, at the next pause after its abort */
export async function inTurns<Result>(work: Steps<Result>, signal?: AbortSignal): Promise<Result> {
  const slice = new Slice();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (!slice.isOver) continue;
    await slice.pause();
    signal?.throwIfAborted();
  }
}

/** Does the work without a pause, for a process that has nothing else to do. Errors  those of the work */
export function atOnce<Result>(work: Steps<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** `list.map(work)` in slices, with the same result. Errors  those of `work` */
export async function mapInTurns<Item, Result>(
  list: readonly Item[],
  work: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  const slice = new Slice();
  for (const [index, item] of list.entries()) {
    results.push(work(item, index));
    if (slice.isOver) await slice.pause();
  }
  return results;
}
