import { attributeText, type Hit } from './hits.js';

/** Filters on the hits. */
export interface Choice {
  /** Selected values by field. A field without selected values filters nothing. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Unit  residues */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Largest E-value, as a decimal logarithm. */
  readonly maxLog10E?: number;
  /** Text to find in id, description or organism. */
  readonly text: string;
}

export const NO_CHOICE: Choice = { values: {}, text: '' };

/** A field to filter by, with its values and their counts among the hits that pass all other filters. */
export interface Facet {
  readonly field: string;
  readonly values: readonly { readonly value: string; readonly count: number; readonly isChosen: boolean }[];
  /** Number of values that are not listed. */
  readonly moreCount: number;
}

const FACET_MAX_VALUES = 12;
/** Largest number of listed values of an open field. The field "Find" reaches the other values. */
const FACET_MAX_OPEN_VALUES = 500;
/** A field with nearly as many values as hits groups nothing. */
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
 * Returns the fields whose values group the hits.
 * @param open fields for which all values are listed
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

/** Returns the choice with one value of a field added or removed. */
export function toggled(choice: Choice, field: string, value: string): Choice {
  const selected = choice.values[field] ?? [];
  const next = selected.includes(value) ? selected.filter((each) => each !== value) : [...selected, value];
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
