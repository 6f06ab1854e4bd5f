/** A stretch of one protein. Zero-based and half-open. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** A window of a protein, and how many windows of its length the protein has. */
export interface ProteinWindow extends Stretch {
  readonly count: number;
}

/** Windows have these shares of a protein's length. Neighbours are shifted by half a window. */
const DIVISORS = [2, 3, 4, 6, 8] as const;
/** Shortest window. A shorter stretch has few residues to be unlike others. */
const LEAST_RESIDUES = 40;
/** Largest share of a stretch that may lie outside of its window. */
const OUTSIDE_SHARE = 0.1;

/**
 * Returns the shortest window of a protein that holds a stretch, or the whole protein. The windows depend on the length
 * only, so that a search tries a fixed number of them.
 * Unit   residues
 * Range  0 ≤ start < end ≤ length; count 1 for the whole protein, else 3, 5, 7, 11 or 15
 */
export function windowOf({ start, end }: Stretch, length: number): ProteinWindow {
  const outside = (window: Stretch): number =>
    Math.max(0, window.start - start) + Math.max(0, end - window.end);
  let shortest: ProteinWindow = { start: 0, end: length, count: 1 };
  for (const divisor of DIVISORS) {
    const residues = Math.ceil(length / divisor);
    if (residues < LEAST_RESIDUES) break;
    const count = 2 * divisor - 1;
    const windows = Array.from({ length: count }, (_, at) => {
      const first = Math.round((at * (length - residues)) / (count - 1));
      return { start: first, end: first + residues, count };
    });
    const best = windows.reduce((one, other) => (outside(other) < outside(one) ? other : one));
    if (outside(best) > OUTSIDE_SHARE * (end - start)) break;
    shortest = best;
  }
  return shortest;
}
