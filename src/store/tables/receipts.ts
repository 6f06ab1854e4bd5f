import { LRUCache } from 'lru-cache';
import { RECEIPTS_MAX_COUNT } from '../../limits.js';
import type { ControlStore } from '../control-store.js';

export interface ReceiptRow {
  /** `rcpt_` and the SHA-256 of the canonical JSON of `content`. */
  readonly id: string;
  readonly createdAt: string;
  /** Organizations whose searches made this very receipt. */
  readonly organizationIds: readonly string[];
  readonly content: Readonly<Record<string, unknown>>;
  /** Length of the canonical JSON of `content`. */
  readonly bytes: number;
}

export interface ReceiptTable {
  get(id: string): ReceiptRow | undefined;
  /** True where this process kept it for the organization not long ago; the row, which may be large, is not read. */
  isKeptLately(id: string, organizationId: string): boolean;
  /** Keeps a receipt for an organization; the oldest go when there are too many. */
  keep(row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void>;
}

const KEPT_LATELY_MAX_COUNT = 10_000;

export function receiptTable(store: ControlStore): ReceiptTable {
  const rows = store.table<ReceiptRow>('receipts');
  // Keyed by time and id, so that the first key is the oldest receipt.
  const byAge = store.table<string>('receipts-by-age');
  let count = byAge.getCount();
  const keptFor = new LRUCache<string, true>({ max: KEPT_LATELY_MAX_COUNT });

  const dropOldest = (): void => {
    for (const { key, value: id } of byAge.getRange({ limit: count - RECEIPTS_MAX_COUNT })) {
      byAge.removeSync(key);
      rows.removeSync(id);
      count -= 1;
    }
  };
  const add = (row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void> =>
    store.transaction(() => {
      const present = rows.get(row.id);
      const organizationIds = [...new Set([...(present?.organizationIds ?? []), organizationId])].sort();
      rows.putSync(row.id, { ...(present ?? row), organizationIds });
      if (present !== undefined) return;
      byAge.putSync(`${row.createdAt} ${row.id}`, row.id);
      count += 1;
      if (count > RECEIPTS_MAX_COUNT) dropOldest();
    });
  return {
    get: (id) => rows.get(id),
    isKeptLately: (id, organizationId) => keptFor.has(`${id} ${organizationId}`) && rows.doesExist(id),
    async keep(row, organizationId) {
      const known = rows.get(row.id);
      if (!known?.organizationIds.includes(organizationId)) await add(row, organizationId);
      keptFor.set(`${row.id} ${organizationId}`, true);
    },
  };
}
