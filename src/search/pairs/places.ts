import type { AffineAlignment } from '../../kernels/kernels.js';

/** A stretch of a query and one of a target. Zero-based and half-open. */
export type Stretches = Pick<AffineAlignment, 'queryStart' | 'queryEnd' | 'targetStart' | 'targetEnd'>;

/**
 * Returns the stretches around an alignment that share no residue pair with an earlier one. Each earlier alignment cuts
 * off one side: that of query and target which leaves more residue pairs, and the target's if both leave as many.
 */
export function freeStretches(
  own: Stretches,
  earlier: readonly Stretches[],
  queryLength: number,
  targetLength: number,
): Stretches {
  let free = { queryStart: 0, queryEnd: queryLength, targetStart: 0, targetEnd: targetLength };
  const area = ({ queryStart, queryEnd, targetStart, targetEnd }: Stretches): number =>
    (queryEnd - queryStart) * (targetEnd - targetStart);
  for (const other of earlier) {
    const cuts = [
      own.targetStart >= other.targetEnd && {
        ...free,
        targetStart: Math.max(free.targetStart, other.targetEnd),
      },
      own.targetEnd <= other.targetStart && {
        ...free,
        targetEnd: Math.min(free.targetEnd, other.targetStart),
      },
      own.queryStart >= other.queryEnd && { ...free, queryStart: Math.max(free.queryStart, other.queryEnd) },
      own.queryEnd <= other.queryStart && { ...free, queryEnd: Math.min(free.queryEnd, other.queryStart) },
    ].filter((cut) => cut !== false);
    free = cuts.reduce((best, cut) => (area(cut) > area(best) ? cut : best));
  }
  return free;
}

/**
 * Returns the stretches around an alignment up to the other alignments, in both proteins. Another one bounds a protein
 * on which it overlaps at most half of the shorter of the two. A repeat, which overlaps more, bounds the other protein.
 * The stretches hold the alignment. They share no residue pair with an alignment that shares none with it.
 */
export function ownStretches(
  own: Stretches,
  others: readonly Stretches[],
  queryLength: number,
  targetLength: number,
): Stretches {
  const [queryStart, queryEnd] = boundedBy(
    [own.queryStart, own.queryEnd],
    others.map((other) => [other.queryStart, other.queryEnd]),
    queryLength,
  );
  const [targetStart, targetEnd] = boundedBy(
    [own.targetStart, own.targetEnd],
    others.map((other) => [other.targetStart, other.targetEnd]),
    targetLength,
  );
  return { queryStart, queryEnd, targetStart, targetEnd };
}

type Span = readonly [start: number, end: number];

function boundedBy([start, end]: Span, others: readonly Span[], length: number): Span {
  let [least, most] = [0, length];
  for (const [from, to] of others) {
    const overlap = Math.min(end, to) - Math.max(start, from);
    if (2 * overlap > Math.min(end - start, to - from)) continue;
    if (from + to > start + end) most = Math.min(most, Math.max(from, end));
    else least = Math.max(least, Math.min(to, start));
  }
  return [least, most];
}

/** Extends stretches by so many residues on each side, within bounds. */
export function extended(own: Stretches, residues: number, bounds: Stretches): Stretches {
  return {
    queryStart: Math.max(bounds.queryStart, own.queryStart - residues),
    queryEnd: Math.min(bounds.queryEnd, own.queryEnd + residues),
    targetStart: Math.max(bounds.targetStart, own.targetStart - residues),
    targetEnd: Math.min(bounds.targetEnd, own.targetEnd + residues),
  };
}

export function areEqual(one: Stretches, other: Stretches): boolean {
  return (
    one.queryStart === other.queryStart &&
    one.queryEnd === other.queryEnd &&
    one.targetStart === other.targetStart &&
    one.targetEnd === other.targetEnd
  );
}

/** Whether two stretches share a residue pair. */
export function overlap(one: Stretches, other: Stretches): boolean {
  return (
    sharedResidues(one.queryStart, one.queryEnd, other.queryStart, other.queryEnd) > 0 &&
    sharedResidues(one.targetStart, one.targetEnd, other.targetStart, other.targetEnd) > 0
  );
}

/** Least share of the longer of two alignments that both share if they are of one piece. */
const SAME_PIECE_SHARE = 1 / 3;

/** Whether two alignments are of one piece of a pair: they share a third of the longer one, in both proteins. */
export function areOfOnePiece(one: Stretches, other: Stretches): boolean {
  const isShared = (start: number, end: number, from: number, to: number): boolean =>
    sharedResidues(start, end, from, to) >= SAME_PIECE_SHARE * Math.max(end - start, to - from);
  return (
    isShared(one.queryStart, one.queryEnd, other.queryStart, other.queryEnd) &&
    isShared(one.targetStart, one.targetEnd, other.targetStart, other.targetEnd)
  );
}

function sharedResidues(start: number, end: number, from: number, to: number): number {
  return Math.min(end, to) - Math.max(start, from);
}
