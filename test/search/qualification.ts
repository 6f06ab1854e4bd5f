import type { CodebookCard, PolicyCard, PolicyDefinition } from '#src/recall/policy-card.js';
import type { Qualification } from '#src/recall/policy-sidecar.js';

/** Qualification with the members that a search reads. */
export function qualifiedFor(policy: PolicyDefinition, centroidIds?: CodebookCard): Qualification {
  const recall = { query_count: 1, wanted_count: 1, found_count: 1, mean: 1, low: 0.2, high: 1 };
  const card: Partial<PolicyCard> = {
    policy,
    ...(centroidIds && { codes: centroidIds }),
    recalls: { nearest_10: recall, nearest_100: recall, evident: null },
  };
  return { id: 'qual_test', card: card as PolicyCard };
}
