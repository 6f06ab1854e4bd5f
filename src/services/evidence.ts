import type { HomologyCandidate } from '../contract/search/candidate-set.js';
import type { Candidate } from '../search/search-types.js';

/** Values by which candidates are selected and ordered, in any representation. */
export interface Evidence {
  readonly rank: number;
  readonly rawScore: number;
  /**
   * Natural logarithm, because E-values underflow; absent without a calibration that supports one. Of a candidate with
   * several alignments it is the smallest of theirs, which the rows of the candidate show.
   */
  readonly logEValue?: number;
  /** Absent if no part of the pair is aligned, or no alignment was requested. */
  readonly alignment?: {
    readonly queryCoverageRatio: number;
    readonly targetCoverageRatio: number;
    readonly sequenceIdentityRatio: number;
  };
}

/** Evidence of a candidate from the search pipeline. */
export function evidenceOfCandidate({ rank, affine, significance, alignment, further }: Candidate): Evidence {
  const { best, alignments = [] } = further ?? {};
  const judged = best === undefined ? alignments : [best, ...alignments];
  const ofAlignments = judged.map((each) => each.significance.logEValue);
  return {
    rank,
    rawScore: affine.rawScore,
    ...(significance.kind === 'supported' && {
      logEValue: Math.min(significance.logEValue, ...ofAlignments),
    }),
    ...(alignment !== undefined && alignment.cigar !== '' && { alignment }),
  };
}

/** Evidence of a candidate in its contract form. */
export function evidenceOfPresented(candidate: HomologyCandidate): Evidence {
  const { rank, measurements, significance, alignment, alignments = [] } = candidate;
  const { log_expected_false_hits: ofPair } = significance.measurements;
  const ofAlignments = alignments.map(({ log_expected_false_hits: log = Infinity }) => log);
  const logEValue = ofPair === undefined ? undefined : Math.min(ofPair, ...ofAlignments);
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
