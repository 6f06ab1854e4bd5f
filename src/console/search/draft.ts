import type { HomologyFilter } from '../../clients/typescript/types/homology.js';
import { hrefTo } from '../parts/route.js';
import { readPasted } from './fasta.js';

/** Initial content of the search form, which another view leaves once. */
export interface Draft {
  readonly text: string;
  readonly database?: string;
  readonly limit?: number;
  readonly filter?: HomologyFilter;
  /** Whether targets that the neighbours of hits lead to are searched, too. */
  readonly isPropagated?: boolean;
  /** Residues that are searched alone, as `40-180`: from 1, both included. */
  readonly range?: string;
}

const KEY = 'gloaming-draft';

/** Stores a draft for the search form. The browser drops the draft with the tab. */
export function leaveDraft(draft: Draft): void {
  sessionStorage.setItem(KEY, JSON.stringify(draft));
}

/** Returns the address of the form with this draft. The address of a draft with several proteins omits them. */
export function addressOf({ text, database, limit, filter, range, isPropagated = false }: Draft): string {
  const records = readPasted(text);
  const [first] = records;
  return hrefTo(['search'], {
    ...(records.length === 1 && { id: first.id, sequence: first.sequence }),
    ...(database !== undefined && { database }),
    ...(limit !== undefined && { limit: String(limit) }),
    ...(filter !== undefined && { filter: JSON.stringify(filter) }),
    ...(range !== undefined && range.trim() !== '' && { range }),
    ...(isPropagated && { propagation: '' }),
  });
}

/**
 * Reads a draft from `#/search?id=&sequence=&database=&limit=&filter=&range=&propagation=`; undefined if all but the
 * last are absent.
 */
export function draftOf(query: URLSearchParams): Draft | undefined {
  const values = ['sequence', 'database', 'limit', 'filter', 'range'].map((name) => query.get(name));
  const [sequence, database, limit, filter, range] = values;
  if (values.every((each) => each === null)) return undefined;
  return {
    text: sequence === null ? '' : `>${query.get('id') ?? 'query'}\n${sequence.replace(/.{1,60}/g, '$&\n')}`,
    ...(database !== null && { database }),
    ...(limit !== null && /^\d{1,4}$/.test(limit) && { limit: Number(limit) }),
    ...readFilter(filter),
    ...(query.get('propagation') !== null && { isPropagated: true }),
    ...(range !== null && rangeOf(range) !== undefined && { range }),
  };
}

/**
 * Reads a filter without validation, because the server validates it. Returns no filter if the text is not JSON of an
 * object.
 */
function readFilter(text: string | null): Pick<Draft, 'filter'> {
  try {
    const filter: unknown = JSON.parse(text ?? 'null');
    return typeof filter === 'object' && filter !== null ? { filter: filter as HomologyFilter } : {};
  } catch {
    return {};
  }
}

/** Reads `40-180` as a range of the contract: zero-based and half-open. Returns undefined for another text. */
export function rangeOf(text: string): { readonly start: number; readonly end: number } | undefined {
  const [, first, last] = /^\s*(\d{1,5})\s*[-–]\s*(\d{1,5})\s*$/.exec(text) ?? [];
  const range = { start: Number(first) - 1, end: Number(last) };
  return range.start >= 0 && range.end > range.start ? range : undefined;
}

/** Writes a range of the contract as `40-180`. */
export function rangeText({ start, end }: { readonly start: number; readonly end: number }): string {
  return `${start + 1}-${end}`;
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
