import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { RunRow } from '../../store/tables/runs.js';

/** A candidate of a run, with the query that found it. */
export interface ExportRow {
  readonly queryIndex: number;
  readonly queryId: string;
  readonly candidate: HomologyCandidate;
}

/** Writes candidates in one format. Bytes come when there are enough of them; all of them in order are the file. */
export interface ExportEncoder {
  /** Errors  Refusal `export_not_possible` where the file would pass a bound */
  add(rows: readonly ExportRow[]): Uint8Array;
  end(): Uint8Array;
  /** Records so far. */
  readonly recordCount: number;
}

/** The id of a query that has none of its own: that of a run of one query. */
export const LONE_QUERY_ID = 'query';

/** Whether a row of the run is a query with its candidates, or a candidate. */
export function isBatch({ endpoint }: Pick<RunRow, 'endpoint'>): boolean {
  return endpoint === 'homology.batch_search';
}
