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

/**
 * Returns the result of one query with its digest.
 * Errors  none
 */
export async function seal(
  { tokens, relatives: homologs }: EncodedQuery,
  candidates: readonly Candidate[],
  served: Pick<SearchResult, 'policy' | 'kernelRetry' | 'funnel'>,
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

/**
 * Digest of a query's int8 tokens, their profile and their shape. Equal digests of results need equal tokens.
 * Shape   values [length × dimension], profile [length × PROFILE_WIDTH], row-major
 * Unit    SHA-256, lower-case hexadecimal
 */
export function tokensSha256(
  { values, profile, effectiveSequences, length }: QueryTokens,
  dimension: number,
): string {
  const ofProfile = profile && { profile: rowsSha256(profile), effective_sequences: effectiveSequences };
  return canonicalSha256({ bytes: rowsSha256(values), dimension, length, ...ofProfile });
}

function rowsSha256({ buffer, byteOffset, byteLength }: Int8Array): string {
  return sha256Hex(new Uint8Array(buffer, byteOffset, byteLength));
}

/**
 * Digest of a result. It covers integers and ids only: no time, request, cache state or float. Equal searches therefore
 * have equal digests on every machine, with any number of threads, backend and load.
 */
function resultSha256(
  pinned: {
    readonly release: Release;
    readonly targetSpace: TargetSpace;
    readonly policy: ResolvedPolicy;
    readonly queryTokensSha256: string;
    readonly calibrationId?: string;
  },
  candidates: readonly Candidate[],
): Promise<string> {
  return canonicalSha256InTurns({
    calibration_id: pinned.calibrationId ?? null,
    candidates: candidates.map((candidate) => ({
      affine_score: candidate.affine.rawScore,
      coordinates: candidate.alignment === undefined ? null : coordinates(candidate.alignment),
      id: pinned.release.targets.id(candidate.targetIndex),
      query_to_target_sum: candidate.queryToTargetSum,
      target_to_query_sum: candidate.targetToQuerySum,
    })),
    policy_id: pinned.policy.id,
    query_tokens_sha256: pinned.queryTokensSha256,
    release_id: pinned.release.id,
    target_space_id: pinned.targetSpace.id ?? null,
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
