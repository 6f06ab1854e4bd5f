import type { HomologyCandidate, PairwiseAlignment } from '../../contract/search/candidate-set.js';

/** One path through several alignments of a pair. Zero-based and half-open. */
export interface JoinedAlignment {
  readonly cigar: string;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  /** Residues between the ends of each alignment, without those between alignments. */
  readonly coveredQueryResidues: number;
  readonly coveredTargetResidues: number;
  /** Identical residues ÷ columns within the alignments, gaps included. */
  readonly sequenceIdentityRatio: number;
}

/**
 * Joins the alignments of a candidate that one row of an alignment can hold: those in the same order in query and
 * target without an overlap in either. The best alignment is first; each next one by score joins if it fits all that
 * have joined. Residues between two alignments face gaps.
 * Range   the best alignment alone if no other one fits
 */
export function joinAlignments(
  { alignments = [] }: Pick<HomologyCandidate, 'alignments'>,
  best: PairwiseAlignment,
): JoinedAlignment {
  const [first, ...further] = alignments.map(({ alignment }) => alignment);
  const joined = [first ?? best];
  for (const alignment of further) {
    if (joined.every((other) => isBefore(alignment, other) || isBefore(other, alignment)))
      joined.push(alignment);
  }
  joined.sort((left, right) => left.query_start - right.query_start);
  const [leftmost, ...others] = joined;
  let { cigar, query_end: queryAt, target_end: targetAt } = leftmost;
  for (const next of others) {
    cigar += runOf(next.query_start - queryAt, 'I') + runOf(next.target_start - targetAt, 'D') + next.cigar;
    ({ query_end: queryAt, target_end: targetAt } = next);
  }
  const sum = (lengthOf: (alignment: PairwiseAlignment) => number): number =>
    joined.reduce((total, alignment) => total + lengthOf(alignment), 0);
  return {
    cigar,
    queryStart: leftmost.query_start,
    queryEnd: queryAt,
    targetStart: leftmost.target_start,
    targetEnd: targetAt,
    coveredQueryResidues: sum((alignment) => alignment.query_end - alignment.query_start),
    coveredTargetResidues: sum((alignment) => alignment.target_end - alignment.target_start),
    sequenceIdentityRatio:
      sum((alignment) => alignment.identical_residue_count) /
      sum((alignment) => alignment.aligned_residue_count + alignment.gap_residue_count),
  };
}

/** Whether an alignment ends before another one begins, in query and target. */
function isBefore(one: PairwiseAlignment, other: PairwiseAlignment): boolean {
  return one.query_end <= other.query_start && one.target_end <= other.target_start;
}

function runOf(length: number, operation: 'I' | 'D'): string {
  return length === 0 ? '' : `${length}${operation}`;
}
