import { attributeText, type Hit } from './hits.js';

/** What of the hits is shown. */
export interface Choice {
  /** Chosen values by field; a field without any lets all through. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Residues. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Largest E-value, as a decimal logarithm. */
  readonly maxLog10E?: number;
  /** Somewhere in id, name or organism. */
  readonly text: string;
}

export const NO_CHOICE: Choice = { values: {}, text: '' };

/** A field to choose by, with its values among the hits that the other fields let through. */
export interface Facet {
  readonly field: string;
  readonly values: readonly { readonly value: string; readonly count: number; readonly isChosen: boolean }[];
  /** Values that are not listed. */
  readonly moreCount: number;
}

const FACET_MAX_VALUES = 12;
/** More of them nobody reads; "Find" has the rest. */
const FACET_MAX_OPEN_VALUES = 500;
/** A field with as many values as hits tells nobody apart. */
const DISTINCT_MAX_SHARE = 0.9;

function valuesOf(hit: Hit, field: string): readonly string[] {
  const value = hit.attributes[field];
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [attributeText(value)];
}

export function chosen(hits: readonly Hit[], choice: Choice, except?: string): readonly Hit[] {
  const { minLength = 0, maxLength = Infinity, maxLog10E } = choice;
  const fields = Object.entries(choice.values).filter(([name, list]) => name !== except && list.length > 0);
  const words = choice.text.toLowerCase();
  return hits.filter(
    (hit) =>
      hit.length >= minLength &&
      hit.length <= maxLength &&
      (maxLog10E === undefined || (hit.logE !== undefined && hit.logE <= maxLog10E * Math.LN10)) &&
      (words === '' || `${hit.id} ${hit.description} ${hit.organism}`.toLowerCase().includes(words)) &&
      fields.every(([name, list]) => valuesOf(hit, name).some((value) => list.includes(value))),
  );
}

/**
 * Fields whose values group the hits.
 * @param open fields of which all values are listed
 */
export function facetsOf(
  hits: readonly Hit[],
  choice: Choice,
  fields: readonly string[],
  open: readonly string[] = [],
): readonly Facet[] {
  return fields.flatMap((field) => {
    const counts = new Map<string, number>();
    for (const hit of chosen(hits, choice, field)) {
      for (const value of valuesOf(hit, field)) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const picked = choice.values[field] ?? [];
    if (picked.length === 0 && !tellsApart(hits, field, counts.size)) return [];
    const ranked = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const values = ranked
      .slice(0, open.includes(field) ? FACET_MAX_OPEN_VALUES : FACET_MAX_VALUES)
      .map(([value, count]) => ({ value, count, isChosen: picked.includes(value) }));
    return [{ field, values, moreCount: ranked.length - values.length }];
  });
}

function tellsApart(hits: readonly Hit[], field: string, distinctCount: number): boolean {
  if (hits.some(({ attributes }) => typeof attributes[field] === 'number')) return false;
  return distinctCount > 1 && distinctCount <= Math.max(3, hits.length * DISTINCT_MAX_SHARE);
}

/** The choice with one value of a field put in or taken out. */
export function toggled(choice: Choice, field: string, value: string): Choice {
  const known = choice.values[field] ?? [];
  const next = known.includes(value) ? known.filter((each) => each !== value) : [...known, value];
  return { ...choice, values: { ...choice.values, [field]: next } };
}

export function isAll(choice: Choice): boolean {
  const { values, text, minLength, maxLength, maxLog10E } = choice;
  const bounds = [minLength, maxLength, maxLog10E];
  return (
    text === '' &&
    bounds.every((bound) => bound === undefined) &&
    Object.values(values).every((list) => list.length === 0)
  );
}
