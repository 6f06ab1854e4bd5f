import { lossesOf, policyId, policyListing } from '../recall/policy-card.js';
import { assert } from '../errors.js';
import type { ReleaseManifest } from '../release/release.js';
import { codebookPlan } from './codebook.js';
import { exhaustivePlan } from './exhaustive.js';
import { sampledPlan } from './prefiltered.js';
import type {
  ResolvedPolicy,
  SearchEngine,
  SearchPlan,
  SearchRequest,
  SearchSettings,
} from './search-types.js';

/**
 * Plans a search: resolves the policy once, as a value that the stages follow without further decisions. A plan holds
 * for this engine and these settings only.
 */
export function planSearch(
  engine: Pick<SearchEngine, 'release' | 'qualification' | 'codebook'>,
  settings: SearchSettings,
): SearchPlan {
  const policy = resolvePolicy(engine, settings);
  if (policy.sampled === undefined) return exhaustivePlan(policy, settings);
  return policy.sampled.usesCodebook ? codebookPlan(policy, settings) : sampledPlan(policy, settings);
}

/**
 * Policy by which the release meets the requested guarantee. `exhaustive` takes the reference policy. `approximate`
 * takes the qualified policy, with more candidates to rescore for a longer list. It falls back to the reference policy
 * if the release has no qualified policy, or none for lists of this length.
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
  const { nearest_count: nearestCount, striking_count: localCount, pool_count: poolCount } = policy;
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
      ...(poolCount !== undefined && { poolCount }),
      losses,
    }),
  });
}

/** Id of the policy that every release has: exact MaxSim with every eligible target. */
export function referencePolicyId({ policies }: ReleaseManifest): string {
  const reference = policies.find((policy) => policy.guarantee === 'exhaustive');
  assert(reference !== undefined, 'every release is built with the exhaustive policy');
  return reference.id;
}
