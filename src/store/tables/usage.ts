import type { ControlStore, Table } from '../control-store.js';

/** One chargeable final result. */
export interface UsageEntry {
  /** Id of the run, or of the request that was answered directly. */
  readonly id: string;
  readonly organizationId: string;
  /** Operation or run endpoint: `homology.search`. */
  readonly endpoint: string;
  /** Units as defined by `formulaId`. */
  readonly units: number;
  readonly formulaId: string;
  readonly createdAt: string;
}

export interface UsageTotals {
  /** Successful calls. */
  readonly calls: number;
  readonly units: number;
}

const NOTHING: UsageTotals = Object.freeze({ calls: 0, units: 0 });

/**
 * The ledger, the tables `usage`, `usage-totals` and `usage-order`. Entries are added and never changed. Totals are
 * updated in the same transaction.
 */
export class UsageTable {
  readonly #store: ControlStore;
  readonly #entries: Table<UsageEntry>;
  readonly #totals: Table<UsageTotals>;
  /** `<organization> <number>`: ids of entries in their order. */
  readonly #order: Table<string>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#entries = store.table<UsageEntry>('usage');
    this.#totals = store.table<UsageTotals>('usage-totals');
    this.#order = store.table<string>('usage-order');
  }

  /** Adds an entry within the caller's transaction. An entry with an existing id is not counted twice. */
  add(entry: UsageEntry): void {
    this.#addAll([entry]);
  }

  /**
   * Adds entries in a transaction of their own. Their responses were sent already, so the transaction may use the
   * reserve.
   */
  record(entries: readonly UsageEntry[]): Promise<void> {
    return this.#store.freeing(() => this.#addAll(entries));
  }

  /** Errors  Refusal `storage_unavailable` if further entries could not be added */
  requireRoom(): void {
    this.#store.requireRoom();
  }

  totals(organizationId: string, endpoint: string): UsageTotals {
    return this.#totals.get(totalKey(organizationId, endpoint)) ?? NOTHING;
  }

  /** Number of entries of an organization. */
  count(organizationId: string): number {
    const range = { start: `${organizationId}!`, end: `${organizationId} `, reverse: true, limit: 1 };
    const [last] = [...this.#order.getKeys(range)];
    return last === undefined ? 0 : Number(last.slice(organizationId.length + 1)) + 1;
  }

  /** Entries of an organization from this number on, in the order in which they were added. */
  list(organizationId: string, first: number, limit: number): readonly UsageEntry[] {
    const range = { start: orderKey(organizationId, first), end: `${organizationId}!`, limit };
    return [...this.#order.getRange(range)].map(
      ({ value: id }) => this.#entries.get(entryKey(organizationId, id)) as UsageEntry,
    );
  }

  /** Reads and writes the shared values once, because requests wait while a batch is added. */
  #addAll(added: readonly UsageEntry[]): void {
    const places = new Map<string, number>();
    const sums = new Map<string, UsageTotals>();
    for (const entry of added) {
      const { organizationId, endpoint, units } = entry;
      const id = entryKey(organizationId, entry.id);
      if (this.#entries.get(id) !== undefined) continue;
      this.#entries.putSync(id, entry);
      const place = places.get(organizationId) ?? this.count(organizationId);
      this.#order.putSync(orderKey(organizationId, place), entry.id);
      places.set(organizationId, place + 1);
      const key = totalKey(organizationId, endpoint);
      const sum = sums.get(key) ?? this.#totals.get(key) ?? NOTHING;
      sums.set(key, { calls: sum.calls + 1, units: sum.units + units });
    }
    for (const [key, sum] of sums) this.#totals.putSync(key, sum);
  }
}

function entryKey(organizationId: string, id: string): string {
  return `${organizationId} ${id}`;
}

function orderKey(organizationId: string, place: number): string {
  return `${organizationId} ${String(place).padStart(12, '0')}`;
}

function totalKey(organizationId: string, endpoint: string): string {
  return `${organizationId} ${endpoint}`;
}
