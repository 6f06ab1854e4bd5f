import { FAMILY_ID, familyIdOf } from '../../release/family-id.js';
import type { Release } from '../../release/release.js';

/**
 * Returns a number for the family of each target, or for its clan if it has one. Members of one family are homologs,
 * whatever their scores are, and so are families of one clan.
 * Shape   one element per target of the list
 * Unit    labels, of which equal ones are of one family or clan
 * Range   −1 for targets that are no members of families
 */
export function familyLabels(
  { targets, fields }: Pick<Release, 'targets' | 'fields'>,
  list: Uint32Array,
): Int32Array {
  if (!fields.some(({ name }) => name === FAMILY_ID)) return new Int32Array(list.length).fill(-1);
  return numberedLabels(list, (target) => {
    const attributes = targets.attributes(target);
    const family = familyIdOf(attributes);
    if (family === undefined) return undefined;
    return typeof attributes.clan === 'string' ? `clan ${attributes.clan}` : `family ${family}`;
  });
}

/**
 * Returns a number for the label of each target.
 * Shape   one element per target of the list
 * Unit    numbers from 0 in the order of the list, equal for equal labels
 * Range   −1 for targets without a label
 */
export function numberedLabels(
  list: Uint32Array,
  labelOf: (target: number) => string | undefined,
): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(list, (target) => {
    const label = labelOf(target);
    if (label === undefined) return -1;
    if (!numbers.has(label)) numbers.set(label, numbers.size);
    return numbers.get(label)!;
  });
}
