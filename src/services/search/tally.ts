/** Number of searches with equal labels. */
export interface SearchCount {
  readonly database: string;
  readonly guarantee: string;
  /** Whether an equal earlier search gave the result. */
  readonly isCacheHit: boolean;
  readonly count: number;
  /** Time spent on searching; 0 for cached results. */
  readonly seconds: number;
}

/** Counts since the start, labelled by names of catalog and contract, so that no client can add labels. */
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
