import type {
  HomologyCandidate,
  PairwiseAlignment as AlignmentOnWire,
} from '../../contract/search/candidate-set.js';
import type { Release } from '../../release/release.js';
import type { AlignmentSignificance } from '../../search/pairs/candidate-significance.js';
import type { Candidate, FurtherAlignments, PairwiseAlignment } from '../../search/search-types.js';
import { presentSignificance } from './present-significance.js';

/** One candidate in its contract form. */
export function presentCandidate(
  candidate: Candidate,
  queryLength: number,
  release: Release,
): HomologyCandidate {
  const { targets } = release;
  const { maxsim, affine, alignment } = candidate;
  return {
    rank: candidate.rank,
    ...(candidate.evidenceRank !== undefined && { evidence_rank: candidate.evidenceRank }),
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
    ...presentAlignments(candidate),
    significance: presentSignificance(candidate.significance),
  };
}

type CandidateAlignment = NonNullable<HomologyCandidate['alignments']>[number];

/** All alignments of a candidate; none if the search did not ask for further ones. */
function presentAlignments({
  alignment,
  further,
  affine,
  significance,
}: Candidate): Pick<HomologyCandidate, 'alignments' | 'is_alignment_limit_reached'> {
  if (alignment === undefined || further === undefined) return {};
  const best = {
    ...alignment,
    rawScore: affine.rawScore,
    significance: significance.kind === 'supported' ? significance : undefined,
  };
  const alignments = [further.best ?? best, ...further.alignments].map((each) => ({
    alignment: presentAlignment(each),
    raw_score: each.rawScore,
    ...(each.significance && {
      bit_score: each.significance.bitScore,
      expected_false_hits: each.significance.eValue,
      log_expected_false_hits: each.significance.logEValue,
      ...presentConditional(each.significance, further),
    }),
  }));
  return { alignments, is_alignment_limit_reached: further.isCut };
}

function presentConditional(
  { logEValue }: AlignmentSignificance,
  { logAcceptedShare }: FurtherAlignments,
): Pick<CandidateAlignment, 'conditional_expected_false_hits'> {
  if (logAcceptedShare === undefined) return {};
  return { conditional_expected_false_hits: Math.exp(logEValue + logAcceptedShare) };
}

function presentAlignment(alignment: PairwiseAlignment): AlignmentOnWire {
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
