import { setImmediate } from 'node:timers/promises';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import { Refusal } from '../../errors.js';
import { EXPORT_SLICE_MAX_CANDIDATES } from '../../limits.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';

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

/** Some candidates in order. */
interface ExportSlice {
  readonly rows: readonly ExportRow[];
  /** Rows of the run that are done with this slice. */
  readonly doneCount: number;
}

/** The id of a query that has none of its own: that of a run of one query. */
export const LONE_QUERY_ID = 'query';

/**
 * The candidates of a run in slices; between two of them others get their turn.
 * @param queryIndex only those of this query of a batch
 * Errors  Refusal `result_expired` where the rows go meanwhile; the signal's reason
 * Cost    one block of rows in memory: 500 rows or 4 MiB
 */
export async function* exportSlices(
  run: RunRow,
  queryIndex: number | undefined,
  { rows }: Pick<RunTable, 'rows'>,
  signal: AbortSignal,
): AsyncGenerator<ExportSlice> {
  const start = isBatch(run) ? (queryIndex ?? 0) : 0;
  const end = isBatch(run) && queryIndex !== undefined ? queryIndex + 1 : run.rowCount;
  for (let at = start; at < end;) {
    const block = await rows.blockAt(run.id, at);
    if (block === undefined)
      throw new Refusal('result_expired', `The results of ${run.id} have gone meanwhile.`);
    const taken = block.rows.slice(at - block.firstRow, end - block.firstRow);
    for (const slice of isBatch(run) ? slicesOfQueries(taken) : slicesOfCandidates(taken)) {
      signal.throwIfAborted();
      yield { rows: slice.rows, doneCount: at - start + slice.doneCount };
      await setImmediate();
    }
    at += taken.length;
  }
}

/** Whether a row of the run is a query with its candidates, or a candidate. */
export function isBatch({ endpoint }: Pick<RunRow, 'endpoint'>): boolean {
  return endpoint === 'homology.batch_search';
}

function* slicesOfQueries(taken: readonly unknown[]): Generator<ExportSlice> {
  for (const [index, row] of taken.entries()) {
    const { query_index: queryIndex, query_id: queryId, candidates } = row as HomologyQueryResult;
    for (let start = 0; start === 0 || start < candidates.length; start += EXPORT_SLICE_MAX_CANDIDATES) {
      const slice = candidates.slice(start, start + EXPORT_SLICE_MAX_CANDIDATES);
      const isLast = start + slice.length === candidates.length;
      const rows = slice.map((candidate) => ({ queryIndex, queryId, candidate }));
      yield { rows, doneCount: isLast ? index + 1 : index };
    }
  }
}

function* slicesOfCandidates(taken: readonly unknown[]): Generator<ExportSlice> {
  for (let start = 0; start < taken.length; start += EXPORT_SLICE_MAX_CANDIDATES) {
    const slice = taken.slice(start, start + EXPORT_SLICE_MAX_CANDIDATES) as readonly HomologyCandidate[];
    const rows = slice.map((candidate) => ({ queryIndex: 0, queryId: LONE_QUERY_ID, candidate }));
    yield { rows, doneCount: start + slice.length };
  }
}
