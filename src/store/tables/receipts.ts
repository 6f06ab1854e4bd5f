import { LRUCache } from 'lru-cache';
import {
  OPEN_ORGANIZATION,
  OPEN_RECEIPTS_MAX_BYTES,
  OPEN_RECEIPTS_MAX_COUNT,
  RECEIPTS_MAX_BYTES,
  RECEIPTS_MAX_COUNT,
} from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';
import { Shares, type Usage } from './shares.js';

export interface ReceiptRow {
  /** `rcpt_` and the SHA-256 of the canonical JSON of `content`. */
  readonly id: string;
  /** Time when it was first stored. */
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

/** Stands for the organizations of receipts that an earlier version stored. */
const EARLIER = '';

/**
 * The tables `receipts` and `receipts-by-organization`. At a bound, the organization with the most receipts, or bytes,
 * loses its oldest, so that none evicts the receipts of another one that has less. A receipt that several organizations
 * made counts for each, and stays until the last has lost it.
 *
 * `receipts-by-age` and `receipts-sizes` are the index of earlier versions. Their receipts are evicted as those of one
 * organization more, because rows are too large to be read at every start.
 */
export class ReceiptTable {
  readonly #rows: Table<ReceiptRow>;
  /** `<organization> <time of storing> <id>`: bytes. The first key of an organization is its oldest receipt. */
  readonly #byOrganization: Table<number>;
  /** `<time> <id>`: id. */
  readonly #earlier: Table<string>;
  readonly #earlierSizes: Table<number>;
  readonly #bounds: ReceiptBounds;
  readonly #recent = new LRUCache<string, true>({ max: KEPT_LATELY_MAX_COUNT });
  readonly #shares: Shares;

  /** @param bounds those that differ from limits.ts */
  constructor(store: ControlStore, bounds: Partial<ReceiptBounds> = {}) {
    this.#rows = store.table<ReceiptRow>('receipts');
    this.#byOrganization = store.table<number>('receipts-by-organization');
    this.#earlier = store.table<string>('receipts-by-age');
    this.#earlierSizes = store.table<number>('receipts-sizes');
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#shares = new Shares(store);
    for (const { value: id } of this.#earlier.getRange()) this.#shares.load(EARLIER, this.#earlierSize(id));
    for (const { key, value } of this.#byOrganization.getRange()) {
      this.#shares.load(key.slice(0, key.indexOf(' ')), value);
    }
  }

  get(id: string): ReceiptRow | undefined {
    return this.#rows.get(id);
  }

  /** Whether this process stored it for the organization recently. Does not read the row, which may be large. */
  isRecent(id: string, organizationId: string): boolean {
    return this.#recent.has(`${id} ${organizationId}`) && this.#rows.doesExist(id);
  }

  /**
   * Stores a receipt for an organization. Evicts others if there are too many or too large ones.
   * @param row  `createdAt` is the time of storing, which is the age of the organization's share in a stored receipt
   */
  async persist(row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void> {
    const stored = this.#rows.get(row.id);
    if (!stored?.organizationIds.includes(organizationId)) await this.#add(row, organizationId);
    this.#recent.set(`${row.id} ${organizationId}`, true);
  }

  #add(row: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): Promise<void> {
    return this.#shares.transaction(() => {
      const present = this.#rows.get(row.id);
      const owners = present?.organizationIds ?? [];
      // An equal request may have stored it meanwhile.
      if (owners.includes(organizationId)) return;
      if (present !== undefined) this.#divide(present);
      this.#rows.putSync(row.id, {
        ...(present ?? row),
        organizationIds: [...owners, organizationId].sort(),
      });
      const newest = this.#give(row, organizationId);
      if (organizationId === OPEN_ORGANIZATION) {
        while (this.#isOpenOver() && this.#dropOldest(organizationId, newest));
      }
      for (let excess = this.#excess(); excess !== undefined; excess = this.#excess()) {
        const organizations = this.#shares.largestFirst(excess);
        if (!organizations.some((each) => this.#dropOldest(each, newest))) break;
      }
    });
  }

  /** Divides a receipt of an earlier version among its organizations. */
  #divide(row: ReceiptRow): void {
    const key = `${row.createdAt} ${row.id}`;
    if (!this.#earlier.doesExist(key)) return;
    this.#takeEarlier(key, row.id);
    for (const organizationId of row.organizationIds) this.#give(row, organizationId);
  }

  /** Returns the key of the organization's share in the receipt. */
  #give({ id, createdAt, bytes }: Omit<ReceiptRow, 'organizationIds'>, organizationId: string): string {
    const key = `${organizationId} ${createdAt} ${id}`;
    this.#byOrganization.putSync(key, bytes);
    this.#shares.add(organizationId, 1, bytes);
    return key;
  }

  #isOpenOver(): boolean {
    const { count, bytes } = this.#shares.of(OPEN_ORGANIZATION);
    return count > this.#bounds.openMaxCount || bytes > this.#bounds.openMaxBytes;
  }

  #excess(): keyof Usage | undefined {
    const { count, bytes } = this.#shares.total;
    if (count > this.#bounds.maxCount) return 'count';
    return bytes > this.#bounds.maxBytes ? 'bytes' : undefined;
  }

  /** The newest share stays, however large it is. Returns whether another one was dropped. */
  #dropOldest(organizationId: string, newest: string): boolean {
    const table: Table<unknown> = organizationId === EARLIER ? this.#earlier : this.#byOrganization;
    const range =
      organizationId === EARLIER ? {} : { start: `${organizationId} `, end: `${organizationId}!` };
    const [key] = [...table.getKeys({ ...range, limit: 2 })].filter((each) => each !== newest);
    if (key === undefined) return false;
    const id = key.slice(key.lastIndexOf(' ') + 1);
    if (organizationId === EARLIER) {
      this.#takeEarlier(key, id);
      this.#rows.removeSync(id);
    } else {
      this.#take(key, id, organizationId);
    }
    return true;
  }

  #takeEarlier(key: string, id: string): void {
    this.#shares.add(EARLIER, -1, -this.#earlierSize(id));
    this.#earlier.removeSync(key);
    this.#earlierSizes.removeSync(id);
  }

  #take(key: string, id: string, organizationId: string): void {
    this.#shares.add(organizationId, -1, -(this.#byOrganization.get(key) ?? 0));
    this.#byOrganization.removeSync(key);
    this.#recent.delete(`${id} ${organizationId}`);
    const row = this.#rows.get(id);
    const organizationIds = row?.organizationIds.filter((each) => each !== organizationId) ?? [];
    if (row === undefined || organizationIds.length === 0) this.#rows.removeSync(id);
    else this.#rows.putSync(id, { ...row, organizationIds });
  }

  /** Receipts of versions before the table of sizes count as empty. */
  #earlierSize(id: string): number {
    return this.#earlierSizes.get(id) ?? 0;
  }
}
