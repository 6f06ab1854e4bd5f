import type { HomologyFilter } from '../../clients/typescript/types/homology.js';

/** What the search form begins with: left by another view, once. */
export interface Draft {
  readonly text: string;
  readonly database?: string;
  readonly limit?: number;
  readonly filter?: HomologyFilter;
}

const KEY = 'gloaming-draft';

/** Leaves a draft for the search form; it goes with the tab. */
export function leaveDraft(draft: Draft): void {
  sessionStorage.setItem(KEY, JSON.stringify(draft));
}

export function takeDraft(): Draft {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  try {
    return text === null ? { text: '' } : (JSON.parse(text) as Draft);
  } catch {
    return { text: '' };
  }
}
