import type { HomologyCandidate } from '../contract/search/candidate-set.js';
import type { Candidate } from '../search/search-types.js';

/** Values by which candidates are selected and ordered, in any representation. */
export interface Evidence {
  readonly rank: number;
  readonly rawScore: number;
  /** Natural logarithm, because E-values underflow; absent without a calibration that supports one. */
  readonly logEValue?: number;
  /** Absent if no part of the pair is aligned, or no alignment was requested. */
  readonly alignment?: {
    readonly queryCoverageRatio: number;
    readonly targetCoverageRatio: number;
    readonly sequenceIdentityRatio: number;
  };
}

/** Evidence of a candidate from the search pipeline. */
export function evidenceOfCandidate({ rank, affine, significance, alignment }: Candidate): Evidence {
  return {
    rank,
    rawScore: affine.rawScore,
    ...(significance.kind === 'supported' && { logEValue: significance.logEValue }),
    ...(alignment !== undefined && alignment.cigar !== '' && { alignment }),
  };
}

/** Evidence of a candidate in its contract form. */
export function evidenceOfPresented(candidate: HomologyCandidate): Evidence {
  const { rank, measurements, significance, alignment } = candidate;
  const { log_expected_false_hits: logEValue } = significance.measurements;
  return {
    rank,
    rawScore: measurements.affine.raw_score,
    ...(logEValue !== undefined && { logEValue }),
    ...(alignment !== undefined &&
      alignment.cigar !== '' && {
        alignment: {
          queryCoverageRatio: alignment.query_coverage_ratio,
          targetCoverageRatio: alignment.target_coverage_ratio,
          sequenceIdentityRatio: alignment.sequence_identity_ratio,
        },
      }),
  };
}
