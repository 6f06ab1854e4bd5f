/** Which residues two proteins are close by, as the server's page `closest` tells it. */
export interface Closest {
  readonly query_length: number;
  readonly target_length: number;
  readonly query_to_target: ClosestSide;
  readonly target_to_query: ClosestSide;
  /** Cosines of all pairs, row by query residue, a byte each in base64: 0 for −1, 255 for 1. */
  readonly matrix?: string;
}

export interface ClosestSide {
  readonly closest: readonly number[];
  readonly cosine: readonly number[];
}

/** What a server lets one do with a result; a report in a file has none of it. */
export interface ResultTools {
  readonly closest?: (targetId: string, signal: AbortSignal) => Promise<Closest>;
  /** Where a search with this protein begins. */
  readonly searchHref?: (id: string, sequence: string) => string;
  /** Where the alignment of all hits is shown. */
  readonly msaHref?: string;
  /** Where these hits' own sequences become the queries of a run. */
  readonly onRun?: (fasta: string) => void;
}
