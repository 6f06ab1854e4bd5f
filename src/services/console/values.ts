import { LRUCache } from 'lru-cache';
import type { Release } from '../../release/release.js';
import { Slice } from '../../turns.js';

/** A value of an attribute, and how many proteins of the release have it. */
export interface CountedValue {
  readonly value: string;
  readonly count: number;
}

/** Distinct values of one field that are counted; those seen first. */
const VALUES_MAX_COUNT = 50_000;
const ANSWER_MAX_COUNT = 20;
const KEPT_FIELDS_MAX_COUNT = 64;

/** Values of attributes, for whoever writes a filter; counted at the first question and kept. */
export class AttributeValues {
  readonly #counted = new LRUCache<string, Promise<readonly CountedValue[]>>({ max: KEPT_FIELDS_MAX_COUNT });

  /** Values of the field that have the text somewhere, most frequent first; of no field, none. */
  async find(release: Release, field: string, text: string): Promise<readonly CountedValue[]> {
    if (!release.fields.some(({ name }) => name === field)) return [];
    const key = `${release.id} ${field}`;
    const known = this.#counted.get(key) ?? countValues(release, field);
    this.#counted.set(key, known);
    known.catch(() => this.#counted.delete(key));
    const wanted = text.toLowerCase();
    const found = (await known).filter(({ value }) => value.toLowerCase().includes(wanted));
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
