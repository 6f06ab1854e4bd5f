/*
 * Long work on the event loop, in slices: whoever works longer than a few milliseconds lets others have their turn. All
 * who pause go on one after the other with a round of the loop between them, so that ten slices never make one.
 */

/** How long a slice works before it pauses. */
const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/** Resolves when others had their turn. */
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

/** Says when a slice has worked long enough. Cost  a look at the clock, some 50 ns */
export class Slice {
  #endMs = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#endMs;
  }

  /** Lets others have their turn; then the next slice begins. */
  async pause(): Promise<void> {
    await pause();
    this.#endMs = performance.now() + SLICE_MS;
  }
}

/** `list.map(work)` in slices; the result is the same. */
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
