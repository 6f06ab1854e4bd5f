import type {
  HomologyCandidate,
  PairwiseAlignment as AlignmentOnWire,
} from '../contract/search/candidate-set.js';
import type { Candidate, PairwiseAlignment } from '../search/search-types.js';
import { coveredResidues } from '../sequence/covered.js';

/** Values by which candidates are selected and ordered, in any representation. */
export interface Evidence {
  readonly rank: number;
  readonly rawScore: number;
  /**
   * Natural logarithm, because E-values underflow; absent without a calibration that supports one. Of a candidate with
   * several alignments it is the smallest of theirs, which the rows of the candidate show.
   */
  readonly logEValue?: number;
  /**
   * Coverage by all listed alignments together, and the identity of the best one. Absent if no part of the pair is
   * aligned, or no alignment was requested.
   */
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
    ...(alignment !== undefined &&
      alignment.cigar !== '' && { alignment: together([best ?? alignment, ...alignments]) }),
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
        alignment: together(
          (alignments.length === 0 ? [alignment] : alignments.map((each) => each.alignment)).map(placed),
        ),
      }),
  };
}

/** Members of an alignment that its coverage and identity are computed from. */
type Placed = Pick<
  PairwiseAlignment,
  | 'queryStart'
  | 'queryEnd'
  | 'queryLength'
  | 'targetStart'
  | 'targetEnd'
  | 'targetLength'
  | 'sequenceIdentityRatio'
>;

function placed(alignment: AlignmentOnWire): Placed {
  return {
    queryStart: alignment.query_start,
    queryEnd: alignment.query_end,
    queryLength: alignment.query_length,
    targetStart: alignment.target_start,
    targetEnd: alignment.target_end,
    targetLength: alignment.target_length,
    sequenceIdentityRatio: alignment.sequence_identity_ratio,
  };
}

/** Coverage by all listed alignments of a candidate together, and the identity of the best one, which is first. */
function together(alignments: readonly Placed[]): NonNullable<Evidence['alignment']> {
  const [{ queryLength, targetLength, sequenceIdentityRatio }] = alignments;
  const ofQuery = alignments.map(({ queryStart, queryEnd }) => [queryStart, queryEnd] as const);
  const ofTarget = alignments.map(({ targetStart, targetEnd }) => [targetStart, targetEnd] as const);
  return {
    queryCoverageRatio: coveredResidues(ofQuery) / queryLength,
    targetCoverageRatio: coveredResidues(ofTarget) / targetLength,
    sequenceIdentityRatio,
  };
}
