/** Searches that were answered by one way of being answered. */
export interface SearchCount {
  readonly database: string;
  readonly guarantee: string;
  /** True where an equal earlier search gave the result. */
  readonly isCacheHit: boolean;
  readonly count: number;
  /** Spent on searching; none where the result was there. */
  readonly seconds: number;
}

/** Counts since the start, by what the catalog and the contract name, so that no client grows it. */
export interface SearchTally {
  add(search: Omit<SearchCount, 'count'>): void;
  counts(): readonly SearchCount[];
}

export function createSearchTally(): SearchTally {
  const counts = new Map<string, SearchCount>();
  return {
    add({ database, guarantee, isCacheHit, seconds }) {
      const key = `${database} ${guarantee} ${isCacheHit}`;
      const before = counts.get(key) ?? { count: 0, seconds: 0 };
      const after = { count: before.count + 1, seconds: before.seconds + seconds };
      counts.set(key, { database, guarantee, isCacheHit, ...after });
    },
    counts: () => [...counts.values()],
  };
}
