import { LRUCache } from 'lru-cache';
import { OPEN_ORGANIZATION, OPEN_RECEIPTS_MAX_COUNT, RECEIPTS_MAX_COUNT } from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';
import { PassingRows } from '../passing-rows.js';
import { Tally } from './tally.js';

export interface ReceiptRow {
  /** `rcpt_` and the SHA-256 of the canonical JSON of `content`. */
  readonly id: string;
  readonly createdAt: string;
  /** Organizations whose searches made this receipt. */
  readonly organizationIds: readonly string[];
  readonly content: Readonly<Record<string, unknown>>;
  /** Length of the canonical JSON of `content`. */
  readonly bytes: number;
}

const KEPT_LATELY_MAX_COUNT = 10_000;

/** The tables `receipts` and `receipts-by-age`. */
export class ReceiptTable {
  readonly #rows: Table<ReceiptRow>;
  /** Keyed by time and id, so that the first key is the oldest receipt. */
  readonly #byAge: Table<string>;
  readonly #maxCount: number;
  readonly #recent = new LRUCache<string, true>({ max: KEPT_LATELY_MAX_COUNT });
  readonly #tally: Tally;

  readonly #passing: PassingRows;

  /** @param openMaxCount receipts that console visitors without a key leave */
  constructor(store: ControlStore, maxCount = RECEIPTS_MAX_COUNT, openMaxCount = OPEN_RECEIPTS_MAX_COUNT) {
    this.#passing = new PassingRows({ organizationId: OPEN_ORGANIZATION, maxCount: openMaxCount });
    this.#rows = store.table<ReceiptRow>('receipts');
    this.#byAge = store.table<string>('receipts-by-age');
    this.#maxCount = maxCount;
    this.#tally = new Tally(store);
    this.#tally.count = this.#byAge.getCount();
  }

  get(id: string): ReceiptRow | undefined {
    return this.#rows.get(id);
  }

  /** Whether this process stored it for the organization recently. Does not read the row, which may be large. */
  isRecent(id: string, organizationId: string): boolean {
    return this.#recent.has(`${id} ${organizationId}`) && this.#rows.doesExist(id);
  }

  /** Stores a receipt for an organization. Deletes the oldest when there are too many. */
  async persist(row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void> {
    const stored = this.#rows.get(row.id);
    if (!stored?.organizationIds.includes(organizationId)) await this.#add(row, organizationId);
    this.#recent.set(`${row.id} ${organizationId}`, true);
  }

  #add(row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void> {
    return this.#tally.transaction(() => {
      const present = this.#rows.get(row.id);
      const organizationIds = [...new Set([...(present?.organizationIds ?? []), organizationId])].sort();
      this.#rows.putSync(row.id, { ...(present ?? row), organizationIds });
      if (present !== undefined) return;
      const key = `${row.createdAt} ${row.id}`;
      this.#byAge.putSync(key, row.id);
      this.#tally.count += 1;
      for (const surplus of this.#passing.note(key, organizationId)) this.#dropPassing(surplus);
      if (this.#tally.count > this.#maxCount) this.#dropOldest();
    });
  }

  #dropPassing(key: string): void {
    const id = key.slice(key.indexOf(' ') + 1);
    if (!this.#passing.isAlone(this.#rows.get(id)?.organizationIds ?? [])) return;
    this.#byAge.removeSync(key);
    this.#rows.removeSync(id);
    this.#tally.count -= 1;
  }

  #dropOldest(): void {
    for (const { key, value: id } of this.#byAge.getRange({ limit: this.#tally.count - this.#maxCount })) {
      this.#byAge.removeSync(key);
      this.#rows.removeSync(id);
      this.#tally.count -= 1;
    }
  }
}
