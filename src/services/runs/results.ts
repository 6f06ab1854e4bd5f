import { isFinal } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import { RUN_PAGE_MAX_BYTES } from '../../limits.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import type { Page, PageRequest, Pages } from '../pages.js';

/**
 * The page of a run's rows behind the cursor. Rows never change, so a cursor is a row number; of a run at work, the
 * rows so far are given and `has_more` stays true.
 * Errors  Refusal `result_expired`, `cursor_invalid`
 * Cost    the blocks that the page touches, 500 rows or 4 MiB each
 */
export async function resultPage(
  run: RunRow,
  { limit, cursor }: PageRequest,
  table: RunTable,
  pages: Pages,
): Promise<Page<unknown>> {
  if (run.areResultsGone) {
    throw new Refusal('result_expired', `The results of ${run.id} were kept until ${run.expiresAt}.`);
  }
  const list = [run.organizationId, 'run-results', run.id];
  const start = cursor === undefined ? 0 : Number(pages.open(cursor, list));
  const rows = await readRows(run.id, start, Math.min(limit, run.rowCount - start), table);
  const end = start + rows.length;
  const hasMore = end < run.rowCount || !isFinal(run.status);
  return {
    object: 'list',
    data: rows,
    has_more: hasMore,
    next_cursor: hasMore ? pages.seal(String(end), list) : null,
  };
}

async function readRows(runId: string, start: number, count: number, table: RunTable): Promise<unknown[]> {
  const rows: unknown[] = [];
  let bytes = 0;
  while (rows.length < count) {
    const block = await table.rows.blockAt(runId, start + rows.length);
    if (block === undefined) break;
    const from = start + rows.length - block.firstRow;
    for (const row of block.rows.slice(from, from + count - rows.length)) {
      bytes += JSON.stringify(row).length;
      // The first row goes out whatever its size, so that every page gets on.
      if (rows.length > 0 && bytes > RUN_PAGE_MAX_BYTES) return rows;
      rows.push(row);
    }
  }
  return rows;
}
