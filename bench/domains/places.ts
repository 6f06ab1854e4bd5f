import type { AlignmentSignificance } from '../../src/search/pairs/candidate-significance.js';
import type { Candidate } from '../../src/search/search-types.js';

/** Rows and columns of an alignment. Zero-based and half-open. */
export interface Place {
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/** An alignment with its own E-value. */
export interface JudgedPlace extends Place {
  readonly eValue: number;
  /** Absent where the search does not accept the target. */
  readonly conditionalEValue?: number;
}

/** All alignments of a candidate, the best first; none if it has none or no E-value. */
export function placesOf({ alignment, significance, further }: Candidate): readonly JudgedPlace[] {
  if (alignment === undefined || significance.kind !== 'supported') return [];
  const { best, alignments = [], logAcceptedShare } = further ?? {};
  const judged = (place: Place, { eValue, logEValue }: AlignmentSignificance): JudgedPlace => ({
    ...place,
    eValue,
    ...(logAcceptedShare !== undefined && { conditionalEValue: Math.exp(logEValue + logAcceptedShare) }),
  });
  return [
    judged(best ?? alignment, best?.significance ?? significance),
    ...alignments.map((each) => judged(each, each.significance)),
  ];
}

/** Whether all four ends are within so many residues. */
export function isNear(place: Place, other: Place, residues: number): boolean {
  const ends = ['queryStart', 'queryEnd', 'targetStart', 'targetEnd'] as const;
  return ends.every((end) => Math.abs(place[end] - other[end]) <= residues);
}

/** Whether a place lies inside another one in query and target. It may reach so many residues over each end. */
export function isWithin(place: Place, other: Place, residues: number): boolean {
  return (
    place.queryStart >= other.queryStart - residues &&
    place.queryEnd <= other.queryEnd + residues &&
    place.targetStart >= other.targetStart - residues &&
    place.targetEnd <= other.targetEnd + residues
  );
}

/** Whether a place covers at least half of another one in the query and in the target. */
export function coversHalf(place: Place, other: Place): boolean {
  const shared = (start: number, end: number, from: number, to: number): number =>
    Math.max(0, Math.min(end, to) - Math.max(start, from)) / (to - from);
  return (
    shared(place.queryStart, place.queryEnd, other.queryStart, other.queryEnd) >= 0.5 &&
    shared(place.targetStart, place.targetEnd, other.targetStart, other.targetEnd) >= 0.5
  );
}

/** Whether two places share a residue of the query and one of the target. */
export function overlaps(place: Place, other: Place): boolean {
  return (
    place.queryStart < other.queryEnd &&
    other.queryStart < place.queryEnd &&
    place.targetStart < other.targetEnd &&
    other.targetStart < place.targetEnd
  );
}
