import type {
  HomologyCandidate,
  HomologyCandidateSet,
  PairwiseAlignment as AlignmentOnWire,
} from '../../contract/search/candidate-set.js';
import type { Release } from '../../release/release.js';
import type { Candidate, PairwiseAlignment, SearchRequest, SearchResult } from '../../search/search-types.js';
import { presentSignificance } from './present-significance.js';

/** One candidate in the words of the contract. */
export function presentCandidate(
  candidate: Candidate,
  queryLength: number,
  release: Release,
): HomologyCandidate {
  const { targets } = release;
  const { maxsim, affine, alignment } = candidate;
  return {
    rank: candidate.rank,
    target: {
      id: targets.id(candidate.targetIndex),
      sequence: targets.sequence(candidate.targetIndex),
      attributes: targets.attributes(candidate.targetIndex),
    },
    measurements: {
      affine: { normalized_score: affine.normalizedScore, raw_score: affine.rawScore },
      late_interaction: {
        distance: queryLength * maxsim.queryToTarget,
        mean_closest_cosine_distance: maxsim.queryToTarget,
        mean_closest_cosine_similarity: 1 - maxsim.queryToTarget,
        query_token_count: queryLength,
      },
      maxsim: {
        bidirectional: maxsim.bidirectional,
        query_to_target: maxsim.queryToTarget,
        target_to_query: maxsim.targetToQuery,
      },
    },
    ...(alignment && { alignment: presentAlignment(alignment) }),
    significance: presentSignificance(candidate.significance),
  };
}

export function presentAlignment(alignment: PairwiseAlignment): AlignmentOnWire {
  return {
    aligned_residue_count: alignment.alignedResidueCount,
    cigar: alignment.cigar,
    cigar_dialect: 'extended',
    coordinate_system: 'zero_based_half_open',
    gap_opening_count: alignment.gapOpeningCount,
    gap_residue_count: alignment.gapResidueCount,
    identical_residue_count: alignment.identicalResidueCount,
    query_coverage_ratio: alignment.queryCoverageRatio,
    query_end: alignment.queryEnd,
    query_length: alignment.queryLength,
    query_start: alignment.queryStart,
    sequence_identity_ratio: alignment.sequenceIdentityRatio,
    target_coverage_ratio: alignment.targetCoverageRatio,
    target_end: alignment.targetEnd,
    target_length: alignment.targetLength,
    target_start: alignment.targetStart,
  };
}

/** What a summary needs to know of what was asked. */
type SearchAsked = Pick<SearchRequest, 'evidence' | 'significance'>;
type EvidenceSummary = HomologyCandidateSet['evidence_summary'];

/** What was asked for beside the ranking, and whether every candidate has it. */
export function summariseEvidence(request: SearchAsked, result: SearchResult): EvidenceSummary {
  const alignment = summariseAlignment(request, result);
  const significance = summariseSignificance(request, result);
  return {
    requested: request.evidence,
    is_requested_evidence_complete: alignment.affected_candidate_count === 0,
    alignment,
    significance,
  };
}

function summariseAlignment(
  request: SearchAsked,
  { candidates }: SearchResult,
): EvidenceSummary['alignment'] {
  if (request.evidence === 'candidate_measurement') {
    return {
      status: 'not_requested',
      candidate_count: 0,
      affected_candidate_count: 0,
      reason: 'not_requested',
    };
  }
  const affected = candidates.filter((candidate) => candidate.alignment?.cigar === '').length;
  const counts = { candidate_count: candidates.length, affected_candidate_count: affected };
  if (candidates.length === 0) return { status: 'complete', ...counts, reason: 'no_candidates' };
  return affected === 0
    ? { status: 'complete', ...counts, reason: 'all_candidates_aligned' }
    : { status: 'partial', ...counts, reason: 'no_positive_local_score' };
}

function summariseSignificance(
  request: SearchAsked,
  { candidates }: SearchResult,
): EvidenceSummary['significance'] {
  const requirement = request.significance;
  if (requirement === 'not_requested') {
    const counts = { candidate_count: 0, affected_candidate_count: 0 };
    return { requirement, status: 'not_requested', ...counts, reason: 'not_requested' };
  }
  const affected = candidates.filter(({ significance }) => significance.kind !== 'supported').length;
  const counts = { candidate_count: candidates.length, affected_candidate_count: affected };
  if (candidates.length === 0) return { requirement, status: 'complete', ...counts, reason: 'no_candidates' };
  if (affected === 0)
    return { requirement, status: 'complete', ...counts, reason: 'all_candidates_supported' };
  if (candidates.every(({ significance }) => significance.kind === 'not_available')) {
    return { requirement, status: 'not_available', ...counts, reason: 'no_qualified_calibration' };
  }
  const status = affected === candidates.length ? 'not_available' : 'partial';
  return { requirement, status, ...counts, reason: 'some_candidates_unsupported' };
}
