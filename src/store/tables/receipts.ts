import { LRUCache } from 'lru-cache';
import {
  OPEN_RECEIPTS_MAX_BYTES,
  OPEN_RECEIPTS_MAX_COUNT,
  RECEIPTS_MAX_BYTES,
  RECEIPTS_MAX_COUNT,
} from '../../limits.js';
import type { ControlStore } from '../control-store.js';
import { DividedRows, type DividedBounds, type DividedRow, type NewRow } from './divided-rows.js';

interface Receipt {
  readonly content: Readonly<Record<string, unknown>>;
  /** Length of the canonical JSON of `content`. */
  readonly bytes: number;
}

/** `id` is `rcpt_` and the SHA-256 of the canonical JSON of `content`. */
export type ReceiptRow = DividedRow & Receipt;

const KEPT_LATELY_MAX_COUNT = 10_000;

const BOUNDS: DividedBounds = {
  maxCount: RECEIPTS_MAX_COUNT,
  maxBytes: RECEIPTS_MAX_BYTES,
  openMaxCount: OPEN_RECEIPTS_MAX_COUNT,
  openMaxBytes: OPEN_RECEIPTS_MAX_BYTES,
};

/** Receipts, divided among the organizations whose searches made them. */
export class ReceiptTable {
  readonly #rows: DividedRows<Receipt>;
  readonly #recent = new LRUCache<string, true>({ max: KEPT_LATELY_MAX_COUNT });

  /** @param bounds those that differ from limits.ts */
  constructor(store: ControlStore, bounds: Partial<DividedBounds> = {}) {
    this.#rows = new DividedRows<Receipt>(store, 'receipts', {
      bounds: { ...BOUNDS, ...bounds },
      bytesOf: ({ bytes }) => bytes,
      onTake: (id, organizationId) => this.#recent.delete(`${id} ${organizationId}`),
      earlierSizes: store.table<number>('receipts-sizes'),
    });
  }

  get(id: string): ReceiptRow | undefined {
    return this.#rows.get(id);
  }

  /** Whether this process stored it for the organization recently. Does not read the row, which may be large. */
  isRecent(id: string, organizationId: string): boolean {
    return this.#recent.has(`${id} ${organizationId}`) && this.#rows.has(id);
  }

  /**
   * Stores a receipt for an organization. Evicts others if there are too many or too large ones.
   * @param row  `createdAt` is the time of storing, which is the age of the organization's share in a stored receipt
   */
  async persist(row: NewRow<Receipt>, organizationId: string): Promise<void> {
    await this.#rows.persist(row, organizationId);
    this.#recent.set(`${row.id} ${organizationId}`, true);
  }
}
