import { OPEN_ORGANIZATION } from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';
import { Shares, type Usage } from './shares.js';

/** A row named by the hash of its content. Each organization that made the content can read it. */
export interface DividedRow {
  readonly id: string;
  /** Time when it was first stored. */
  readonly createdAt: string;
  /** Ascending. */
  readonly organizationIds: readonly string[];
}

export type NewRow<Content> = Omit<DividedRow, 'organizationIds'> & Content;

/** Bounds of all rows, and of those that console visitors without a key leave. */
export interface DividedBounds {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly openMaxCount: number;
  readonly openMaxBytes: number;
}

interface DividedRules<Content> {
  readonly bounds: DividedBounds;
  readonly bytesOf: (row: NewRow<Content>) => number;
  /** These three run inside the transaction: for a row that is added or removed, and for the loss of one share. */
  readonly onAdd?: (row: Content) => void;
  readonly onDrop?: (row: Content) => void;
  readonly onTake?: (id: string, organizationId: string) => void;
  /** Sizes of rows in the index of earlier versions. Default: the values of that index. */
  readonly earlierSizes?: Table<number>;
}

/** Stands for the organizations of rows that an earlier version stored. */
const EARLIER = '';

/**
 * The tables `<name>` and `<name>-by-organization`. At a bound, the organization with the most rows, or bytes, loses
 * its oldest, so that none evicts the rows of another one that has less. A row that several organizations made counts
 * for each, and stays until the last has lost it.
 *
 * `<name>-by-age` is the index of earlier versions. Their rows are evicted as those of one organization more, because
 * rows are too large to be read at every start.
 */
export class DividedRows<Content extends object> {
  readonly #rows: Table<DividedRow & Content>;
  /** `<organization> <time of storing> <id>`: bytes. The first key of an organization is its oldest row. */
  readonly #byOrganization: Table<number>;
  /** `<time> <id>`. */
  readonly #earlier: Table<unknown>;
  readonly #rules: DividedRules<Content>;
  readonly #shares: Shares;

  constructor(store: ControlStore, name: string, rules: DividedRules<Content>) {
    this.#rows = store.table<DividedRow & Content>(name);
    this.#byOrganization = store.table<number>(`${name}-by-organization`);
    this.#earlier = store.table<unknown>(`${name}-by-age`);
    this.#rules = rules;
    this.#shares = new Shares(store);
    for (const { key, value } of this.#earlier.getRange()) {
      this.#shares.load(EARLIER, this.#earlierBytes(idIn(key), value));
    }
    for (const { key, value } of this.#byOrganization.getRange()) {
      this.#shares.load(key.slice(0, key.indexOf(' ')), value);
    }
  }

  get(id: string): (DividedRow & Content) | undefined {
    return this.#rows.get(id);
  }

  /** Whether it is stored. Does not read the row, which may be large. */
  has(id: string): boolean {
    return this.#rows.doesExist(id);
  }

  /**
   * Stores a row for an organization. Evicts others if there are too many or too large ones. A repeated call writes
   * nothing.
   * @param row  `createdAt` is the time of storing, which is the age of the organization's share in a stored row
   */
  async persist(row: NewRow<Content>, organizationId: string): Promise<void> {
    const stored = this.#rows.get(row.id);
    if (!stored?.organizationIds.includes(organizationId)) await this.#add(row, organizationId);
  }

  #add(row: NewRow<Content>, organizationId: string): Promise<void> {
    return this.#shares.transaction(() => {
      const present = this.#rows.get(row.id);
      const owners = present?.organizationIds ?? [];
      // An equal request may have stored it meanwhile.
      if (owners.includes(organizationId)) return;
      if (present !== undefined) this.#divide(present);
      const owned = { ...(present ?? row), organizationIds: [...owners, organizationId].sort() };
      this.#rows.putSync(row.id, owned);
      if (present === undefined) this.#rules.onAdd?.(owned);
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

  /** Divides a row of an earlier version among its organizations. */
  #divide(row: DividedRow & Content): void {
    const key = `${row.createdAt} ${row.id}`;
    if (!this.#earlier.doesExist(key)) return;
    this.#takeEarlier(key);
    for (const organizationId of row.organizationIds) this.#give(row, organizationId);
  }

  /** Returns the key of the organization's share in the row. */
  #give(row: NewRow<Content>, organizationId: string): string {
    const bytes = this.#rules.bytesOf(row);
    const key = `${organizationId} ${row.createdAt} ${row.id}`;
    this.#byOrganization.putSync(key, bytes);
    this.#shares.add(organizationId, 1, bytes);
    return key;
  }

  #isOpenOver(): boolean {
    const { count, bytes } = this.#shares.of(OPEN_ORGANIZATION);
    const { openMaxCount, openMaxBytes } = this.#rules.bounds;
    return count > openMaxCount || bytes > openMaxBytes;
  }

  #excess(): keyof Usage | undefined {
    const { count, bytes } = this.#shares.total;
    const { maxCount, maxBytes } = this.#rules.bounds;
    if (count > maxCount) return 'count';
    return bytes > maxBytes ? 'bytes' : undefined;
  }

  /** The newest share stays, however large it is. Returns whether another one was dropped. */
  #dropOldest(organizationId: string, newest: string): boolean {
    const table: Table<unknown> = organizationId === EARLIER ? this.#earlier : this.#byOrganization;
    const range =
      organizationId === EARLIER ? {} : { start: `${organizationId} `, end: `${organizationId}!` };
    const [key] = [...table.getKeys({ ...range, limit: 2 })].filter((each) => each !== newest);
    if (key === undefined) return false;
    if (organizationId === EARLIER) {
      this.#takeEarlier(key);
      this.#remove(idIn(key));
    } else {
      this.#take(key, organizationId);
    }
    return true;
  }

  #takeEarlier(key: string): void {
    const id = idIn(key);
    this.#shares.add(EARLIER, -1, -this.#earlierBytes(id, this.#earlier.get(key)));
    this.#earlier.removeSync(key);
    this.#rules.earlierSizes?.removeSync(id);
  }

  #take(key: string, organizationId: string): void {
    const id = idIn(key);
    this.#shares.add(organizationId, -1, -(this.#byOrganization.get(key) ?? 0));
    this.#byOrganization.removeSync(key);
    this.#rules.onTake?.(id, organizationId);
    const row = this.#rows.get(id);
    const organizationIds = row?.organizationIds.filter((each) => each !== organizationId) ?? [];
    if (row === undefined || organizationIds.length === 0) this.#remove(id);
    else this.#rows.putSync(id, { ...row, organizationIds });
  }

  #remove(id: string): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#rows.removeSync(id);
    this.#rules.onDrop?.(row);
  }

  /** Rows of versions without a table of sizes count as empty. */
  #earlierBytes(id: string, value: unknown): number {
    const { earlierSizes } = this.#rules;
    if (earlierSizes !== undefined) return earlierSizes.get(id) ?? 0;
    return typeof value === 'number' ? value : 0;
  }
}

function idIn(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1);
}
