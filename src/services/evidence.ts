import type { HomologyCandidate } from '../contract/search/candidate-set.js';
import type { Candidate } from '../search/search-types.js';

/** What candidates are kept and ordered by, whatever words they came in. */
export interface Evidence {
  readonly rank: number;
  readonly rawScore: number;
  /** Natural logarithm, because E-values underflow; absent where no calibration supports one. */
  readonly logEValue?: number;
  /** Absent where nothing of the pair is aligned, or nobody asked. */
  readonly alignment?: {
    readonly queryCoverageRatio: number;
    readonly targetCoverageRatio: number;
    readonly sequenceIdentityRatio: number;
  };
}

/** Of a candidate as a search leaves it. */
export function evidenceOfFound({ rank, affine, significance, alignment }: Candidate): Evidence {
  return {
    rank,
    rawScore: affine.rawScore,
    ...(significance.kind === 'supported' && { logEValue: significance.logEValue }),
    ...(alignment !== undefined && alignment.cigar !== '' && { alignment }),
  };
}

/** Of a candidate in the words of the contract. */
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
