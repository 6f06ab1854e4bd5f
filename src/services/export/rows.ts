import type { Warning } from '../../contract/grammar/envelope.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { RunRow } from '../../store/tables/runs.js';

/** A query as the formats tell of it. */
export interface ExportQuery {
  /** Position among the queries; the first is 0. */
  readonly index: number;
  readonly id: string;
  /** Present where the format asked for it. */
  readonly sequence?: string;
}

/** What was searched. */
export interface ExportedSearch {
  readonly database: string;
  readonly targetCount: number;
  readonly residueCount: number;
}

/** A candidate with the query that found it. */
export interface ExportRow {
  readonly query: ExportQuery;
  readonly search: ExportedSearch;
  readonly candidate: HomologyCandidate;
}

/** Writes candidates in one format. Bytes come when there are enough of them; all of them in order are the file. */
export interface ExportEncoder {
  /**
   * Candidates of one query, in their order; a format that needs whole queries is given all of them at once, or none.
   * Errors  Refusal `export_not_possible` where the file would pass a bound
   */
  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array | Promise<Uint8Array>;
  end(): Uint8Array;
  /** Records so far. */
  readonly recordCount: number;
  /** Candidates so far that cut-offs of the format's own left out. */
  readonly leftOutCount?: number;
  /** What the file warns of so far. */
  readonly warnings?: readonly Warning[];
}

/** The id of a query that has none of its own: that of a run of one query. */
export const LONE_QUERY_ID = 'query';

/** Whether a row of the run is a query with its candidates, or a candidate. */
export function isBatch({ endpoint }: Pick<RunRow, 'endpoint'>): boolean {
  return endpoint === 'homology.batch_search';
}
