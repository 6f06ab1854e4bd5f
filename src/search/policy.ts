import { lossesOf, policyId, policyListing } from '../recall/policy-card.js';
import { assert } from '../errors.js';
import type { ReleaseManifest } from '../release/release.js';
import type { ResolvedPolicy, SearchEngine, SearchRequest } from './search-types.js';

/**
 * The release-owned way in which the asked-for guarantee is met. `exhaustive` takes the reference policy.
 * `approximate` takes the policy that the release is qualified for, with more finalists where a longer list is asked
 * for, and the stronger reference policy where it is for none, or where none of those that qualify lists so many.
 */
export function resolvePolicy(
  { release, qualification, codebook }: Pick<SearchEngine, 'release' | 'qualification' | 'codebook'>,
  { guarantee, limit }: Pick<SearchRequest, 'guarantee' | 'limit'>,
): ResolvedPolicy {
  const reference = {
    id: referencePolicyId(release.manifest),
    requestedGuarantee: guarantee,
    resolvedGuarantee: 'exhaustive',
    isExhaustive: true,
    isFallback: guarantee === 'approximate',
  } as const;
  if (guarantee === 'exhaustive') {
    return Object.freeze({ ...reference, resolutionReason: 'exhaustive_requested' });
  }
  if (qualification === undefined) {
    return Object.freeze({ ...reference, resolutionReason: 'no_qualified_approximate_policy' });
  }
  const usesCodebook = qualification.card.codes !== undefined;
  assert(!usesCodebook || codebook !== undefined, 'an engine has the codebook that its policy needs');
  const measured = policyListing(limit, qualification.card);
  if (measured === undefined) {
    return Object.freeze({ ...reference, resolutionReason: 'limit_exceeds_qualified_policy' });
  }
  const { policy, recalls } = measured;
  const { nearest_count: nearestCount, striking_count: localCount } = policy;
  const losses = lossesOf(recalls, qualification.card);
  return Object.freeze({
    id: policyId(policy),
    requestedGuarantee: guarantee,
    resolvedGuarantee: 'approximate',
    isExhaustive: false,
    isFallback: false,
    resolutionReason: 'qualified_approximate_policy',
    sampled: Object.freeze({
      nearestCount,
      localCount,
      qualificationId: qualification.id,
      usesCodebook,
      losses,
    }),
  });
}

/** The policy of every release: exact MaxSim over every eligible target. */
export function referencePolicyId({ policies }: ReleaseManifest): string {
  const reference = policies.find((policy) => policy.guarantee === 'exhaustive');
  assert(reference !== undefined, 'every release is built with the exhaustive policy');
  return reference.id;
}
