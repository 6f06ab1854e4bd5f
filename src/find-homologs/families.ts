import { homologSetOf } from '../homologs/family.js';
import type { HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';

const BATCH_FAMILIES = 16;

/** Returns a finder for consensus sequences, which carry the selected members of their families with them. */
export function familyHomologs(rules: HomologRules): HomologFinder {
  return {
    batchProteins: BATCH_FAMILIES,
    async find(proteins, { signal } = {}) {
      signal?.throwIfAborted();
      return proteins.map(({ sequence, family }) => homologSetOf(sequence, family, rules));
    },
  };
}
