import type { HomologyCandidateSet } from '../../contract/search/candidate-set.js';
import type { Warning } from '../../contract/grammar/envelope.js';
import { sha256Hex } from '../../canonical.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { ProteinQuery, SearchEngine, SearchResult } from '../../search/search-types.js';
import type { CatalogRelease } from './catalog.js';
import { presentCandidate } from './present-candidates.js';
import { semanticProfileId } from './semantic-profile.js';

/* The parts of an answer, in the words of the contract; direct answers and the results of runs are made of them. */

export const RANKING: HomologyCandidateSet['ranking'] = {
  comparability: 'within_query_only',
  order: 'ascending',
  primary_measurement: 'maxsim.bidirectional',
  scope: 'resolved_policy_frontier',
  tie_breakers: [{ field: 'target.id', order: 'ascending' }],
};

export function presentCandidates(
  { candidates, queryLength }: SearchResult,
  release: Release,
): HomologyCandidateSet['candidates'] {
  return candidates.map((candidate) => presentCandidate(candidate, queryLength, release));
}

export function presentQuery({ sequence, normalizationId }: ProteinQuery): HomologyCandidateSet['query'] {
  return {
    kind: 'protein_sequence',
    normalization_id: normalizationId,
    normalized_length: sequence.length,
    sha256: sha256Hex(sequence),
  };
}

export function presentDatabase(
  release: Pick<CatalogRelease, 'databaseId' | 'releaseId' | 'slug'>,
  engine: SearchEngine,
  targetSpace: TargetSpace,
): HomologyCandidateSet['database'] {
  return {
    corpus_snapshot_id: engine.release.manifest.corpus_snapshot_id,
    id: release.databaseId,
    release_id: release.releaseId,
    searched_residue_count: targetSpace.searchedResidueCount,
    searched_target_count: targetSpace.searchedTargetCount,
    slug: release.slug,
    ...(targetSpace.id !== undefined && {
      canonical_filter_sha256: targetSpace.canonicalFilterSha256,
      target_space_id: targetSpace.id,
    }),
  };
}

/** How a search was served, as far as its answer says. */
type Served = Pick<SearchResult, 'policy' | 'kernelRetry'>;

export function presentExecution(
  { backend, release }: SearchEngine,
  { policy, kernelRetry }: Served,
  createdAt: string,
  serverVersion: string,
): HomologyCandidateSet['execution'] {
  return {
    created_at: createdAt,
    engine: kernelRetry?.servedBy ?? `${backend.name}:${backend.variant}`,
    engine_release: backend.version,
    semantic_profile_id: semanticProfileId(release.manifest),
    server_version: serverVersion,
    policy: {
      is_deterministic: true,
      is_exhaustive: policy.isExhaustive,
      is_fallback: policy.isFallback,
      outcome: 'complete_exact',
      requested_guarantee: policy.requestedGuarantee,
      resolved_guarantee: policy.resolvedGuarantee,
      resolution_reason: policy.resolutionReason,
    },
  };
}

export function searchWarnings(
  { release, backend, encoder }: SearchEngine,
  targetSpace: TargetSpace,
  retriedOn: string | undefined,
): Warning[] {
  const warnings: Warning[] = [];
  if (retriedOn !== undefined) {
    warnings.push({
      code: 'kernels_retried_on_cpu',
      message: 'A GPU failed during this search, and the CPU did its work. The result is the same.',
      details: { device: backend.name, served_by: retriedOn },
    });
  }
  if (encoder.differenceFromCpu !== undefined) {
    warnings.push({
      code: 'encoder_tokens_differ',
      message:
        'The encoder runs on a device that rounds otherwise than the CPU: other machines may find another result.',
      details: { device: encoder.device },
    });
  }
  if (targetSpace.searchedTargetCount === 0) {
    warnings.push({
      code: 'target_space_empty',
      message: 'No target is eligible under this filter, so nothing was compared.',
      details: { target_space_id: targetSpace.id },
    });
  }
  if (release.manifest.is_simulated) {
    warnings.push({
      code: 'simulated_database',
      message: 'The proteins of this database were simulated; candidates mean nothing in biology.',
      details: { title: release.manifest.title },
    });
  }
  return warnings;
}
