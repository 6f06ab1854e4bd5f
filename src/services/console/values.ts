import { LRUCache } from 'lru-cache';
import type { FilterField, Release } from '../../release/release.js';
import { Slice } from '../../turns.js';

/** A value of an attribute, and how many proteins of the release have it. */
export interface CountedValue {
  /** As filters take it. */
  readonly value: string;
  /** Of a taxon that shares its name with another, whose value is its number. */
  readonly name?: string;
  readonly count: number;
}

/** Distinct values of one field that are counted; those seen first. */
const VALUES_MAX_COUNT = 50_000;
const ANSWER_MAX_COUNT = 20;
const KEPT_FIELDS_MAX_COUNT = 64;

/** Values of attributes, for whoever writes a filter; counted at the first question and kept. */
export class AttributeValues {
  readonly #counted = new LRUCache<string, Promise<readonly CountedValue[]>>({ max: KEPT_FIELDS_MAX_COUNT });

  /**
   * Values of the field that have the text somewhere, most frequent first; of no field, none.
   * @param isBelow whether taxa are asked for with all proteins below them, by name
   */
  async find(
    release: Release,
    name: string,
    text: string,
    isBelow: boolean,
  ): Promise<readonly CountedValue[]> {
    const field = release.fields.find((each) => each.name === name);
    if (field === undefined) return [];
    const isTaxa = isBelow && field.isTaxonomy === true;
    const key = `${release.id} ${isTaxa ? 'below ' : ''}${name}`;
    const known = this.#counted.get(key) ?? (isTaxa ? countTaxa(release, field) : countValues(release, name));
    this.#counted.set(key, known);
    known.catch(() => this.#counted.delete(key));
    const wanted = text.toLowerCase();
    const found = (await known).filter(({ value, name: taxon = value }) =>
      `${value} ${taxon}`.toLowerCase().includes(wanted),
    );
    return found.slice(0, ANSWER_MAX_COUNT);
  }
}

async function countValues({ targets }: Release, field: string): Promise<readonly CountedValue[]> {
  const counts = new Map<string, number>();
  const slice = new Slice();
  for (let target = 0; target < targets.count; target += 1) {
    const attribute = targets.attribute(target, field);
    const values = Array.isArray(attribute) ? (attribute as readonly string[]) : [attribute];
    for (const value of values) {
      if (value === undefined) continue;
      const text = String(value);
      const known = counts.get(text);
      if (known !== undefined || counts.size < VALUES_MAX_COUNT) counts.set(text, (known ?? 0) + 1);
    }
    if (slice.isOver) await slice.pause();
  }
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

/** Taxa of the lineages with the proteins on and below them. */
async function countTaxa(release: Release, field: FilterField): Promise<readonly CountedValue[]> {
  const counts = new Map<number, number>();
  for (const { value, count } of await countValues(release, field.name))
    for (const taxid of release.lineage(Number(value))) counts.set(taxid, (counts.get(taxid) ?? 0) + count);
  return [...counts]
    .map(([taxid, count]) => {
      const name = release.taxonName(taxid) ?? String(taxid);
      // Filters take what begins with a digit as a number.
      const isName = field.taxaNamed?.(name).length === 1 && !/^\s*-?\d/.test(name);
      return { ...(isName ? { value: name } : { value: String(taxid), name }), count };
    })
    .sort((a, b) => b.count - a.count);
}
