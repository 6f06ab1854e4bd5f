import type { HomologyFilter, HomologyRelease } from '../../clients/typescript/types/homology.js';

export type FilterField = HomologyRelease['filter_fields'][number];

/** One line of the filter builder. A line with an empty value is unfinished. */
export interface Clause {
  readonly field: string;
  readonly op: string;
  /** As typed. Commas separate several values. */
  readonly value: string;
}

/** Operators in words. */
export const OPERATORS: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  lt: 'is less than',
  lte: 'is at most',
  gt: 'is more than',
  gte: 'is at least',
  prefix: 'begins with',
  suffix: 'ends with',
  contains: 'contains',
  descends_from: 'lies below',
  in: 'is one of',
  not_in: 'is none of',
  between: 'is between',
  not_between: 'is not between',
  contains_any: 'contains any of',
  contains_all: 'contains all of',
  exists: 'is known',
  missing: 'is not known',
};

const SEVERAL = new Set(['in', 'not_in', 'between', 'not_between', 'contains_any', 'contains_all']);
const NONE = new Set(['exists', 'missing']);

export function takesValue(op: string): boolean {
  return !NONE.has(op);
}

export function takesSeveral(op: string): boolean {
  return SEVERAL.has(op);
}

/** Returns the filter of the contract; undefined for none. Unfinished clauses are left out. */
export function filterOf(clauses: readonly Clause[], joined: 'and' | 'or'): HomologyFilter | undefined {
  const filters = clauses.filter(isFinished).map(({ field, op, value }): HomologyFilter => {
    if (!takesValue(op)) return { op, field } as HomologyFilter;
    if (!takesSeveral(op)) return { op, field, value: value.trim() } as HomologyFilter;
    const values = value
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean);
    return { op, field, values } as HomologyFilter;
  });
  return filters.length <= 1 ? filters[0] : { op: joined, filters };
}

function isFinished({ op, value }: Clause): boolean {
  return !takesValue(op) || value.trim() !== '';
}

/** Unvalidated fields of a filter. The text of an address can be anything. */
interface LooseFilter {
  readonly op?: unknown;
  readonly field?: unknown;
  readonly value?: unknown;
  readonly values?: unknown;
  readonly filter?: unknown;
  readonly filters?: unknown;
}

function looseOf(filter: unknown): LooseFilter {
  return typeof filter === 'object' && filter !== null ? filter : {};
}

function listOf(values: unknown): readonly unknown[] {
  return Array.isArray(values) ? values : [];
}

/**
 * Returns the lines that build this filter; undefined if the filter is nested more deeply than the builder supports.
 */
export function clausesOf(
  filter: unknown,
): { readonly clauses: readonly Clause[]; readonly joined: 'and' | 'or' } | undefined {
  if (filter === undefined || filter === null) return { clauses: [], joined: 'and' };
  const { op, filters } = looseOf(filter);
  const list = op === 'and' || op === 'or' ? listOf(filters) : [filter];
  const clauses = list.map(clauseOf);
  if (clauses.some((each) => each === undefined)) return undefined;
  return { clauses: clauses as Clause[], joined: op === 'or' ? 'or' : 'and' };
}

function clauseOf(filter: unknown): Clause | undefined {
  const { op, field, value, values } = looseOf(filter);
  if (typeof op !== 'string' || typeof field !== 'string') return undefined;
  return { op, field, value: typeof value === 'string' ? value : listOf(values).map(String).join(', ') };
}

/** Filters nested more deeply are written as `…`. */
const WORDS_MAX_DEPTH = 8;

/** Writes a filter as a sentence: `organism is Homo sapiens and length is at least 100`. */
export function wordsOf(filter: unknown, depth = 0): string {
  const { op, field, value, values, filter: inner, filters } = looseOf(filter);
  if (depth > WORDS_MAX_DEPTH) return '…';
  if (op === 'not') return `not (${wordsOf(inner, depth + 1)})`;
  if (op === 'and' || op === 'or') {
    const parts = listOf(filters).map((each) => {
      const words = wordsOf(each, depth + 1);
      return looseOf(each).filters === undefined ? words : `(${words})`;
    });
    return parts.join(` ${op} `);
  }
  const name = String(field).replaceAll('_', ' ');
  const shown = value ?? listOf(values).join(', ');
  return `${name} ${OPERATORS[String(op)] ?? String(op)} ${String(shown)}`.trim();
}
