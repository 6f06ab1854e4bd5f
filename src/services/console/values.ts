import { LRUCache } from 'lru-cache';
import type { FilterField, Release } from '../../release/release.js';
import { Slice } from '../../turns.js';

/** A value of an attribute, and the number of proteins in the release that have it. */
export interface CountedValue {
  /** In the form that filters accept. */
  readonly value: string;
  /** Name of a taxon that another taxon shares. Its value is then its number. */
  readonly name?: string;
  readonly count: number;
}

/** Largest number of distinct values that are counted for one field, in order of occurrence. */
const VALUES_MAX_COUNT = 50_000;
const ANSWER_MAX_COUNT = 20;
const KEPT_FIELDS_MAX_COUNT = 64;

/** Values of attributes, for users that write a filter. They are counted at the first request and cached. */
export class AttributeValues {
  readonly #counted = new LRUCache<string, Promise<readonly CountedValue[]>>({ max: KEPT_FIELDS_MAX_COUNT });

  /**
   * Values of the field that contain the text, most frequent first. An unknown field has none.
   * @param isBelow whether to return names of taxa with all proteins below them
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
    const counted =
      this.#counted.get(key) ?? (isTaxa ? countTaxa(release, field) : countValues(release, name));
    this.#counted.set(key, counted);
    counted.catch(() => this.#counted.delete(key));
    const lower = text.toLowerCase();
    const matching = (await counted).filter(({ value, name: taxon = value }) =>
      `${value} ${taxon}`.toLowerCase().includes(lower),
    );
    return matching.slice(0, ANSWER_MAX_COUNT);
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
      const count = counts.get(text);
      if (count !== undefined || counts.size < VALUES_MAX_COUNT) counts.set(text, (count ?? 0) + 1);
    }
    if (slice.isOver) await slice.pause();
  }
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

/** Counts the taxa of the lineages with the proteins on and below them. Errors  those of the release's files */
async function countTaxa(release: Release, field: FilterField): Promise<readonly CountedValue[]> {
  const counts = new Map<number, number>();
  for (const { value, count } of await countValues(release, field.name))
    for (const taxid of release.lineage(Number(value))) counts.set(taxid, (counts.get(taxid) ?? 0) + count);
  return [...counts]
    .map(([taxid, count]) => {
      const name = release.taxonName(taxid) ?? String(taxid);
      // Filters read a value that begins with a digit as a number.
      const isName = field.taxaNamed?.(name).length === 1 && !/^\s*-?\d/.test(name);
      return { ...(isName ? { value: name } : { value: String(taxid), name }), count };
    })
    .sort((a, b) => b.count - a.count);
}
