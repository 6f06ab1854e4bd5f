import type { ReleaseManifest } from '../release/release.js';
import { assert } from '../errors.js';
import type { Guarantee, ResolvedPolicy } from './search-types.js';

/**
 * The release-owned way in which the asked-for guarantee is met.
 * `exhaustive` takes the reference policy. `approximate` takes the policy that the build has qualified, and the
 * stronger reference policy where there is none.
 */
export function resolvePolicy(manifest: ReleaseManifest, requested: Guarantee): ResolvedPolicy {
  const qualified =
    requested === 'approximate' ? manifest.policies.find((p) => p.guarantee === 'approximate') : undefined;
  const reference = manifest.policies.find((policy) => policy.guarantee === 'exhaustive');
  assert(reference !== undefined, 'every release is built with the exhaustive policy');
  // No build qualifies an approximate policy yet; a release that claims one was made by a newer version.
  assert(qualified === undefined, 'a qualified approximate policy needs a search that knows it');
  return Object.freeze({
    id: reference.id,
    requestedGuarantee: requested,
    resolvedGuarantee: 'exhaustive',
    isExhaustive: true,
    isFallback: requested === 'approximate',
    resolutionReason:
      requested === 'approximate' ? 'no_qualified_approximate_policy' : 'exhaustive_requested',
  });
}
