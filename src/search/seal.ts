import { canonicalSha256, canonicalSha256InTurns, sha256Hex } from '../canonical.js';
import type { QueryTokens } from '../kernels/kernels.js';
import type { Release, TargetSpace } from '../release/release.js';
import type {
  Candidate,
  EncodedQuery,
  ResolvedPolicy,
  SearchEngine,
  SearchRequest,
  SearchResult,
} from './search-types.js';

/** The result of one query under the digest that names it. */
export async function seal(
  { tokens, relatives: homologs }: EncodedQuery,
  candidates: readonly Candidate[],
  served: Pick<SearchResult, 'policy' | 'kernelRetry'>,
  { targetSpace, limit }: Pick<SearchRequest, 'targetSpace' | 'limit'>,
  { release, calibration }: SearchEngine,
): Promise<SearchResult> {
  const queryTokensSha256 = tokensSha256(tokens, release.manifest.encoder.dimension);
  const pinned = {
    release,
    targetSpace,
    policy: served.policy,
    queryTokensSha256,
    calibrationId: calibration?.id,
  };
  return {
    candidates,
    isResultLimitReached: targetSpace.searchedTargetCount > limit,
    ...served,
    queryLength: tokens.length,
    queryTokensSha256,
    ...(homologs && { relatives: homologs }),
    resultSha256: await resultSha256(pinned, candidates),
  };
}

/** Digest of a query's int8 tokens, their profile and their shape: what the promise of equal bits starts from. */
export function tokensSha256(
  { values, profile, effectiveSequences, length }: QueryTokens,
  dimension: number,
): string {
  const family = profile && { profile: rowsSha256(profile), effective_sequences: effectiveSequences };
  return canonicalSha256({ bytes: rowsSha256(values), dimension, length, ...family });
}

function rowsSha256({ buffer, byteOffset, byteLength }: Int8Array): string {
  return sha256Hex(new Uint8Array(buffer, byteOffset, byteLength));
}

/**
 * Names what was found: integers and ids only, nothing that carries a time, a request, a cache or a float, so that
 * equal searches have equal digests on every machine, with any threads, backend and load.
 */
function resultSha256(
  found: {
    readonly release: Release;
    readonly targetSpace: TargetSpace;
    readonly policy: ResolvedPolicy;
    readonly queryTokensSha256: string;
    readonly calibrationId?: string;
  },
  candidates: readonly Candidate[],
): Promise<string> {
  return canonicalSha256InTurns({
    calibration_id: found.calibrationId ?? null,
    candidates: candidates.map((candidate) => ({
      affine_score: candidate.affine.rawScore,
      coordinates: candidate.alignment === undefined ? null : coordinates(candidate.alignment),
      id: found.release.targets.id(candidate.targetIndex),
      query_to_target_sum: candidate.queryToTargetSum,
      target_to_query_sum: candidate.targetToQuerySum,
    })),
    policy_id: found.policy.id,
    query_tokens_sha256: found.queryTokensSha256,
    release_id: found.release.id,
    target_space_id: found.targetSpace.id ?? null,
  });
}

function coordinates(alignment: NonNullable<Candidate['alignment']>): Record<string, unknown> {
  return {
    cigar: alignment.cigar,
    query_end: alignment.queryEnd,
    query_start: alignment.queryStart,
    target_end: alignment.targetEnd,
    target_start: alignment.targetStart,
  };
}
