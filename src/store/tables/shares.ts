import { ORGANIZATION_MAX_PER_FREE } from '../../limits.js';
import type { ControlStore } from '../control-store.js';

/** Rows in a table, and their bytes. */
export interface Usage {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Whether an organization has its share of a bound that concerns all organizations: ORGANIZATION_MAX_PER_FREE times
 * what is free. Some room therefore stays for further organizations, however many have their share.
 * @param countOwn  called only if the share can be full
 */
export function isShareFull(total: number, max: number, countOwn: () => number): boolean {
  const share = ORGANIZATION_MAX_PER_FREE * (max - total);
  return total >= share && countOwn() >= share;
}

const NOTHING: Usage = Object.freeze({ count: 0, bytes: 0 });

interface Change extends Usage {
  readonly organizationId: string;
}

/** Rows of each organization in a table, and their bytes, because counting takes too long. Otherwise like a Tally. */
export class Shares {
  readonly #store: ControlStore;
  readonly #usage = new Map<string, Usage>();
  #total = NOTHING;
  /** Changes of the transaction whose work runs. */
  #changes: Change[] = [];

  constructor(store: ControlStore) {
    this.#store = store;
  }

  get total(): Usage {
    return this.#total;
  }

  of(organizationId: string): Usage {
    return this.#usage.get(organizationId) ?? NOTHING;
  }

  /** Organizations with rows, those with the most first. */
  largestFirst(measure: keyof Usage): readonly string[] {
    const ascending = [...this.#usage.keys()].sort();
    return ascending.sort((a, b) => this.of(b)[measure] - this.of(a)[measure]);
  }

  /** Counts a row that is stored already. */
  load(organizationId: string, bytes: number): void {
    this.#apply(organizationId, 1, bytes);
  }

  /** Adds, or subtracts, rows of an organization, in the work of a transaction. */
  add(organizationId: string, count: number, bytes: number): void {
    this.#changes.push({ organizationId, count, bytes });
    this.#apply(organizationId, count, bytes);
  }

  /** Runs a transaction. Reverts what its work has added if it fails. Errors  those of ControlStore.transaction */
  async transaction(work: () => void): Promise<void> {
    let changes: readonly Change[] = [];
    const workAndNote = (): void => {
      changes = this.#changes = [];
      work();
    };
    try {
      await this.#store.transaction(workAndNote);
    } catch (error) {
      for (const { organizationId, count, bytes } of changes) this.#apply(organizationId, -count, -bytes);
      throw error;
    }
  }

  #apply(organizationId: string, count: number, bytes: number): void {
    const after = sumOf(this.of(organizationId), count, bytes);
    if (after.count === 0) this.#usage.delete(organizationId);
    else this.#usage.set(organizationId, after);
    this.#total = sumOf(this.#total, count, bytes);
  }
}

function sumOf(usage: Usage, count: number, bytes: number): Usage {
  return { count: usage.count + count, bytes: usage.bytes + bytes };
}
