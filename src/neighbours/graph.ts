/**
 * One value per edge of a graph of neighbours. The edges of one query are adjacent, in ascending order of E-value, and
 * of target where E-values are equal.
 * Shape  [edges] each
 */
export interface EdgeColumns {
  /** Index of the neighbour in the order of the release; never the query itself. */
  readonly targets: Uint32Array;
  /** Natural logarithm of the E-value, at most that of the card's `max_expected`. */
  readonly logEValues: Float64Array;
  /** Affine score of the alignment. 1.. */
  readonly affineScores: Int32Array;
  /** Zero-based half-open coordinates of the alignment on the query and on the target. Unit  residues */
  readonly queryStarts: Uint16Array;
  readonly queryEnds: Uint16Array;
  readonly targetStarts: Uint16Array;
  readonly targetEnds: Uint16Array;
}

/**
 * The nearest other targets of each target of a release, as compressed sparse rows. The row of target t has the edges
 * from `offsets[t]` up to, but not including, `offsets[t + 1]`. Rows are not symmetric: each is one search.
 * Shape  offsets [targets + 1], ascending from 0 to the number of edges
 */
export interface NeighbourGraph extends EdgeColumns {
  readonly offsets: Uint32Array;
}

/** Number of edges that offsets of 32 bits can hold. */
export const GRAPH_MAX_EDGES = 2 ** 32 - 1;

/**
 * Returns columns for a number of edges, filled with zeros.
 * Shape  [count] each
 * Unit   that of EdgeColumns
 * Range  all values are 0
 */
export function emptyEdges(count: number): EdgeColumns {
  return {
    targets: new Uint32Array(count),
    logEValues: new Float64Array(count),
    affineScores: new Int32Array(count),
    queryStarts: new Uint16Array(count),
    queryEnds: new Uint16Array(count),
    targetStarts: new Uint16Array(count),
    targetEnds: new Uint16Array(count),
  };
}
