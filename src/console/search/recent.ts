/** Searches of this browser, so that one who closed the page finds its result again. */

export interface RecentSearch {
  readonly receiptId: string;
  readonly name: string;
  readonly database: string;
  /** ISO 8601. */
  readonly at: string;
}

const KEY = 'gloaming-recent';
const KEPT_MAX_COUNT = 8;

/** The newest first. */
export function recentSearches(): readonly RecentSearch[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]') as readonly RecentSearch[];
  } catch {
    return [];
  }
}

export function noteRecent(search: RecentSearch): void {
  const others = recentSearches().filter(({ receiptId }) => receiptId !== search.receiptId);
  localStorage.setItem(KEY, JSON.stringify([search, ...others].slice(0, KEPT_MAX_COUNT)));
}

/** Whoever signs in next on this machine need not see them. */
export function forgetRecent(): void {
  localStorage.removeItem(KEY);
}
