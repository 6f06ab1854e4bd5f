/** Stores the recent searches in this browser, so that a closed page can be reopened with its result. */

export interface RecentSearch {
  readonly receiptId: string;
  readonly name: string;
  readonly database: string;
  /** ISO 8601. */
  readonly at: string;
}

const KEY = 'gloaming-recent';
const KEPT_MAX_COUNT = 8;

/** Returns the searches, newest first. */
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

/** Deletes the list at sign-out, so that the next user of the browser does not see it. */
export function forgetRecent(): void {
  localStorage.removeItem(KEY);
}
