import type { Release } from '../../release/release.js';

/**
 * Returns a number for the family of each target, or for its clan if it has one. Members of one family are homologs,
 * whatever their scores are, and so are families of one clan.
 * Shape   one element per target of the list
 * Unit    labels, of which equal ones are of one family or clan
 * Range   −1 for targets that are no members of families (attribute `family_id`)
 */
export function familyLabels(
  { targets, fields }: Pick<Release, 'targets' | 'fields'>,
  list: Uint32Array,
): Int32Array {
  const labels = new Int32Array(list.length).fill(-1);
  if (!fields.some(({ name }) => name === 'family_id')) return labels;
  const numbers = new Map<string, number>();
  return labels.map((_, at) => {
    const { family_id: family, clan } = targets.attributes(list[at]);
    if (typeof family !== 'string') return -1;
    const label = typeof clan === 'string' ? `clan ${clan}` : `family ${family}`;
    if (!numbers.has(label)) numbers.set(label, numbers.size);
    return numbers.get(label)!;
  });
}
