import type { HomologyFilter } from '../../clients/typescript/types/homology.js';
import { hrefTo } from '../parts/route.js';
import { readPasted } from './fasta.js';

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

/** The address of the form with this draft; of several proteins, without them. */
export function addressOf({ text, database, limit, filter }: Draft): string {
  const records = readPasted(text);
  const [first] = records;
  return hrefTo(['search'], {
    ...(records.length === 1 && { id: first.id, sequence: first.sequence }),
    ...(database !== undefined && { database }),
    ...(limit !== undefined && { limit: String(limit) }),
    ...(filter !== undefined && { filter: JSON.stringify(filter) }),
  });
}

/** What an address says: `#/search?id=&sequence=&database=&limit=&filter=`, any of them; undefined for none of them. */
export function draftOf(query: URLSearchParams): Draft | undefined {
  const [sequence, database, limit, filter] = ['sequence', 'database', 'limit', 'filter'].map((name) =>
    query.get(name),
  );
  if ([sequence, database, limit, filter].every((each) => each === null)) return undefined;
  return {
    text: sequence === null ? '' : `>${query.get('id') ?? 'query'}\n${sequence.replace(/.{1,60}/g, '$&\n')}`,
    ...(database !== null && { database }),
    ...(limit !== null && /^\d{1,4}$/.test(limit) && { limit: Number(limit) }),
    ...readFilter(filter),
  };
}

/** Whoever wrote the address may have written anything: what is no filter, the server refuses. */
function readFilter(text: string | null): Pick<Draft, 'filter'> {
  try {
    const filter: unknown = JSON.parse(text ?? 'null');
    return typeof filter === 'object' && filter !== null ? { filter: filter as HomologyFilter } : {};
  } catch {
    return {};
  }
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
