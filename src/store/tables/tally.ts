import type { ControlStore } from '../control-store.js';

/**
 * Number of rows of a table and their bytes, because counting takes too long. The work of a transaction changes it, so
 * that the next one sees the change. A transaction that fails reverts its change.
 */
export class Tally {
  readonly #store: ControlStore;
  count = 0;
  bytes = 0;

  constructor(store: ControlStore) {
    this.#store = store;
  }

  /** Runs a transaction whose work counts the rows that it adds and drops. Errors  those of ControlStore.transaction */
  async transaction(work: () => void): Promise<void> {
    let [count, bytes] = [0, 0];
    const workAndNote = (): void => {
      const before = { count: this.count, bytes: this.bytes };
      try {
        work();
      } finally {
        // Work that failed half-way is counted too, so that a revert subtracts its changes.
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
