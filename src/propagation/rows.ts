/**
 * Graph of neighbours as compressed rows: the best other targets of each target, with both ends of each alignment.
 * Shape   offsets [targets + 1]; the others [edges], the row of target t from offsets[t] to offsets[t + 1]
 * Unit    target indices; E-values in targets; stretches in residues, half-open
 * Range   no target is its own neighbour; E-values 0 or more
 */
export interface NeighbourRows {
  readonly offsets: Uint32Array;
  readonly neighbours: Uint32Array;
  readonly eValues: Float64Array;
  /** Stretch on the protein of the row. */
  readonly ownStarts: Uint16Array;
  readonly ownEnds: Uint16Array;
  /** Stretch on its neighbour. */
  readonly otherStarts: Uint16Array;
  readonly otherEnds: Uint16Array;
}

/** A hit of a query, with the stretch of the target that its alignment covers. */
export interface WalkHit {
  readonly target: number;
  readonly eValue: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}
