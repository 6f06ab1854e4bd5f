import type { HomologyCandidateSet } from '../../contract/search/candidate-set.js';
import type { SearchRequest, SearchResult } from '../../search/search-types.js';

/** Members of a request that its evidence summary needs. */
type RequestedEvidence = Pick<SearchRequest, 'evidence' | 'significance' | 'databaseSize'>;
type EvidenceSummary = HomologyCandidateSet['evidence_summary'];

/** Evidence requested beyond the ranking, and whether every candidate has it. */
export function summariseEvidence(request: RequestedEvidence, result: SearchResult): EvidenceSummary {
  const alignment = summariseAlignment(request, result);
  const significance = {
    ...summariseSignificance(request, result),
    ...(request.databaseSize !== undefined && { database_size: request.databaseSize }),
  };
  return {
    requested: request.evidence,
    is_requested_evidence_complete:
      alignment.affected_candidate_count + significance.affected_candidate_count === 0,
    alignment,
    significance,
  };
}

function summariseAlignment(
  request: RequestedEvidence,
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
  request: RequestedEvidence,
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
