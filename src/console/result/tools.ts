import type { AttributeValue } from './hits.js';

/** The closest residues of two proteins, as the server's page `closest` returns them. */
export interface Closest {
  readonly query_length: number;
  readonly target_length: number;
  readonly query_to_target: ClosestSide;
  readonly target_to_query: ClosestSide;
  /** Cosines of all pairs, row-major by query residue, one byte each in base64: 0 is −1, 255 is 1. */
  readonly matrix?: string;
}

export interface ClosestSide {
  readonly closest: readonly number[];
  readonly cosine: readonly number[];
}

/** Proteins around one in the graph of neighbours, as the server's page `neighbourhood` returns them. */
export interface Neighbourhood {
  /** The centre first. `steps` is the number of edges from it: 0, 1 or 2. */
  readonly proteins: readonly {
    readonly id: string;
    readonly attributes: Readonly<Record<string, AttributeValue>>;
    readonly steps: number;
  }[];
  /** Pairs by position among the proteins. */
  readonly edges: readonly {
    readonly source: number;
    readonly target: number;
    readonly log_expected_false_hits: number;
  }[];
  readonly left_out_count: number;
}

/** Address of the manual from the console, which the same server serves. */
export const MANUAL_HREF = '../docs/';

/** Actions on a result that need a server. A report in a file has the manual's address only. */
export interface ResultTools {
  /** Address of the manual, with a slash at the end. */
  readonly manualHref?: string;
  readonly closest?: (targetId: string, signal: AbortSignal) => Promise<Closest>;
  /** The surroundings of a protein in the graph of neighbours; its value is undefined if the database has no graph. */
  readonly neighbourhood?: (id: string, signal: AbortSignal) => Promise<Neighbourhood | undefined>;
  /** Address of the search form with this protein. */
  readonly searchHref?: (id: string, sequence: string) => string;
  /** Searches a stretch of the query with the settings of this result. Zero-based and half-open. */
  readonly onRange?: (range: { readonly start: number; readonly end: number }) => void;
  /** Address of the alignment of all hits. */
  readonly msaHref?: string;
  /** Starts a run whose queries are the sequences of these hits. */
  readonly onRun?: (fasta: string) => void;
}
