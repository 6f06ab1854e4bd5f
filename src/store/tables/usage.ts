import type { ControlStore } from '../control-store.js';

/** One chargeable terminal result. */
export interface UsageEntry {
  /** Id of the run, or of the request that was answered directly. */
  readonly id: string;
  readonly organizationId: string;
  /** Operation or run endpoint: `homology.search`. */
  readonly endpoint: string;
  /** Units as `formulaId` counts them. */
  readonly units: number;
  readonly formulaId: string;
  readonly createdAt: string;
}

export interface UsageTotals {
  /** Successful calls. */
  readonly calls: number;
  readonly units: number;
}

/** The ledger: entries are added, never changed; totals are kept beside them, in the same transaction. */
export interface UsageTable {
  /** Adds an entry within the caller's transaction; one that is there already (by its id) is not counted twice. */
  add(entry: UsageEntry): void;
  /** Adds entries in one transaction of their own. */
  record(entries: readonly UsageEntry[]): Promise<void>;
  totals(organizationId: string, endpoint: string): UsageTotals;
  /** Entries of an organization; the first has the number 0. */
  count(organizationId: string): number;
  /** Entries of an organization from this number on, in the order in which they were added. */
  list(organizationId: string, first: number, limit: number): readonly UsageEntry[];
}

const NOTHING: UsageTotals = Object.freeze({ calls: 0, units: 0 });

export function usageTable(store: ControlStore): UsageTable {
  const entries = store.table<UsageEntry>('usage');
  const totals = store.table<UsageTotals>('usage-totals');
  /** `<organization> <number>`: ids of entries in their order. */
  const order = store.table<string>('usage-order');
  const placeOf = (organizationId: string, place: number): string =>
    `${organizationId} ${String(place).padStart(12, '0')}`;
  const count = (organizationId: string): number => {
    const range = { start: `${organizationId}!`, end: `${organizationId} `, reverse: true, limit: 1 };
    const [last] = [...order.getKeys(range)];
    return last === undefined ? 0 : Number(last.slice(organizationId.length + 1)) + 1;
  };
  const keyOf = (organizationId: string, endpoint: string): string => `${organizationId} ${endpoint}`;
  /** What entries share is read and written once: a batch is added while requests wait. */
  const addAll = (added: readonly UsageEntry[]): void => {
    const places = new Map<string, number>();
    const sums = new Map<string, UsageTotals>();
    for (const entry of added) {
      const { organizationId, endpoint, units } = entry;
      const id = `${organizationId} ${entry.id}`;
      if (entries.get(id) !== undefined) continue;
      entries.putSync(id, entry);
      const place = places.get(organizationId) ?? count(organizationId);
      order.putSync(placeOf(organizationId, place), entry.id);
      places.set(organizationId, place + 1);
      const key = keyOf(organizationId, endpoint);
      const sum = sums.get(key) ?? totals.get(key) ?? NOTHING;
      sums.set(key, { calls: sum.calls + 1, units: sum.units + units });
    }
    for (const [key, sum] of sums) totals.putSync(key, sum);
  };
  return {
    add: (entry) => addAll([entry]),
    record: (added) => store.transaction(() => addAll(added)),
    totals: (organizationId, endpoint) => totals.get(keyOf(organizationId, endpoint)) ?? NOTHING,
    count,
    list: (organizationId, first, limit) =>
      [...order.getRange({ start: placeOf(organizationId, first), end: `${organizationId}!`, limit })].map(
        ({ value: id }) => entries.get(`${organizationId} ${id}`) as UsageEntry,
      ),
  };
}
