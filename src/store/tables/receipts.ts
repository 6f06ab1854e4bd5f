import { LRUCache } from 'lru-cache';
import {
  OPEN_ORGANIZATION,
  OPEN_RECEIPTS_MAX_BYTES,
  OPEN_RECEIPTS_MAX_COUNT,
  RECEIPTS_MAX_BYTES,
  RECEIPTS_MAX_COUNT,
} from '../../limits.js';
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

/** Bounds of all receipts, and of those that console visitors without a key leave. */
interface ReceiptBounds {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly openMaxCount: number;
  readonly openMaxBytes: number;
}

const BOUNDS: ReceiptBounds = {
  maxCount: RECEIPTS_MAX_COUNT,
  maxBytes: RECEIPTS_MAX_BYTES,
  openMaxCount: OPEN_RECEIPTS_MAX_COUNT,
  openMaxBytes: OPEN_RECEIPTS_MAX_BYTES,
};

/**
 * The tables `receipts`, `receipts-by-age` and `receipts-sizes`. A receipt of a version before the table of sizes
 * counts as empty, because rows are too large to be read at every start.
 */
export class ReceiptTable {
  readonly #rows: Table<ReceiptRow>;
  /** Keyed by time and id, so that the first key is the oldest receipt. */
  readonly #byAge: Table<string>;
  /** Bytes of each receipt. */
  readonly #sizes: Table<number>;
  readonly #bounds: Pick<ReceiptBounds, 'maxCount' | 'maxBytes'>;
  readonly #recent = new LRUCache<string, true>({ max: KEPT_LATELY_MAX_COUNT });
  readonly #tally: Tally;

  readonly #passing: PassingRows;

  /** @param bounds those that differ from limits.ts */
  constructor(store: ControlStore, bounds: Partial<ReceiptBounds> = {}) {
    const { openMaxCount, openMaxBytes, ...all } = { ...BOUNDS, ...bounds };
    this.#passing = new PassingRows({
      organizationId: OPEN_ORGANIZATION,
      maxCount: openMaxCount,
      maxBytes: openMaxBytes,
    });
    this.#rows = store.table<ReceiptRow>('receipts');
    this.#byAge = store.table<string>('receipts-by-age');
    this.#sizes = store.table<number>('receipts-sizes');
    this.#bounds = all;
    this.#tally = new Tally(store);
    this.#tally.count = this.#byAge.getCount();
    for (const { value } of this.#sizes.getRange()) this.#tally.bytes += value;
  }

  get(id: string): ReceiptRow | undefined {
    return this.#rows.get(id);
  }

  /** Whether this process stored it for the organization recently. Does not read the row, which may be large. */
  isRecent(id: string, organizationId: string): boolean {
    return this.#recent.has(`${id} ${organizationId}`) && this.#rows.doesExist(id);
  }

  /** Stores a receipt for an organization. Deletes the oldest when there are too many or too large ones. */
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
      this.#sizes.putSync(row.id, row.bytes);
      this.#tally.count += 1;
      this.#tally.bytes += row.bytes;
      for (const surplus of this.#passing.note(key, organizationId, row.bytes)) {
        if (surplus !== key) this.#dropPassing(surplus);
      }
      while (this.#isOver()) this.#dropOldest();
    });
  }

  #dropPassing(key: string): void {
    const id = key.slice(key.indexOf(' ') + 1);
    if (this.#passing.isAlone(this.#rows.get(id)?.organizationIds ?? [])) this.#drop(key, id);
  }

  /** The newest receipt stays, however large it is. */
  #isOver(): boolean {
    const { count, bytes } = this.#tally;
    return count > 1 && (count > this.#bounds.maxCount || bytes > this.#bounds.maxBytes);
  }

  #dropOldest(): void {
    const limit = Math.max(1, this.#tally.count - this.#bounds.maxCount);
    for (const { key, value: id } of [...this.#byAge.getRange({ limit })]) this.#drop(key, id);
  }

  #drop(key: string, id: string): void {
    this.#tally.count -= 1;
    this.#tally.bytes -= this.#sizes.get(id) ?? 0;
    this.#byAge.removeSync(key);
    this.#rows.removeSync(id);
    this.#sizes.removeSync(id);
  }
}
