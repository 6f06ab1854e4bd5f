import type { ControlStore } from '../control-store.js';

/**
 * How many rows a table has, and of how many bytes: too many to be counted each time. The work of a transaction changes
 * it, so that the next one knows of it; one that is refused takes its change back.
 */
export class Tally {
  readonly #store: ControlStore;
  count = 0;
  bytes = 0;

  constructor(store: ControlStore) {
    this.#store = store;
  }

  /** A transaction whose work counts what it adds and drops. Errors  those of ControlStore.transaction */
  async transaction(work: () => void): Promise<void> {
    let [count, bytes] = [0, 0];
    const workAndNote = (): void => {
      const before = { count: this.count, bytes: this.bytes };
      try {
        work();
      } finally {
        // Of work that failed half-way, too.
        [count, bytes] = [this.count - before.count, this.bytes - before.bytes];
      }
    };
    try {
      await this.#store.transaction(workAndNote);
    } catch (error) {
      this.count -= count;
      this.bytes -= bytes;
      throw error;
    }
  }
}
