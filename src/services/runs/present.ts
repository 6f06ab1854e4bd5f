import type { Run, RunProgress } from '../../contract/runs/runs.js';
import type { RunEndpointKey } from '../../contract/runs/run-kinds.js';
import { isFinal } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import { RUN_PAGE_HEAD_BYTES, RUN_PAGE_MAX_BYTES, RUN_WAIT_MAX_SECONDS } from '../../limits.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import type { Page, PageRequest, Pages } from '../pages.js';

/** A run in its contract form. */
export function presentRun(run: RunRow): Run {
  return {
    object: 'run',
    id: run.id,
    endpoint: run.endpoint as RunEndpointKey,
    status: run.status,
    ...(run.label !== undefined && { label: run.label }),
    priority: run.priority,
    is_background: run.isBackground,
    ...(run.webhookEndpointId !== undefined && { webhook_endpoint_id: run.webhookEndpointId }),
    input_sha256: run.inputSha256,
    created_at: run.createdAt,
    ...(run.startedAt !== undefined && { started_at: run.startedAt }),
    ...(run.finishedAt !== undefined && { finished_at: run.finishedAt }),
    ...(run.expiresAt !== undefined && { expires_at: run.expiresAt }),
    attempt_count: run.attemptCount,
    progress: presentProgress(run),
    ...(run.summary !== undefined && { result: { row_count: run.rowCount, summary: run.summary } }),
    ...(run.error !== undefined && { error: run.error }),
    usage: { billable_units: run.billableUnits },
  };
}

/** Bytes between two rows of a page. */
export const ROW_SEPARATOR_BYTES = 1;

export function presentProgress({ status, stage, doneCount, totalCount, workMs }: RunRow): RunProgress {
  const rate = doneCount > 0 && workMs > 0 ? doneCount / (workMs / 1000) : undefined;
  return {
    stage,
    fraction: status === 'completed' ? 1 : totalCount === 0 ? 0 : doneCount / totalCount,
    done_count: doneCount,
    total_count: totalCount,
    ...(rate !== undefined && { rate_per_second: rate }),
    ...(rate !== undefined && !isFinal(status) && { seconds_left: (totalCount - doneCount) / rate }),
  };
}

/**
 * The page of a run's rows after the cursor. Rows never change, so a cursor is a row number. For a running run, the
 * page has the rows so far and `has_more` stays true.
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
    throw new Refusal('result_expired', `The results of ${run.id} expired on ${run.expiresAt}.`);
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
  let bytes = RUN_PAGE_HEAD_BYTES;
  while (rows.length < count) {
    const block = await table.rows.blockAt(runId, start + rows.length);
    if (block === undefined) break;
    const from = start + rows.length - block.firstRow;
    for (const row of block.rows.slice(from, from + count - rows.length)) {
      bytes += Buffer.byteLength(JSON.stringify(row)) + ROW_SEPARATOR_BYTES;
      // The first row is returned whatever its size, so that every page makes progress.
      if (rows.length > 0 && bytes > RUN_PAGE_MAX_BYTES) return rows;
      rows.push(row);
    }
  }
  return rows;
}

/** Seconds of `Prefer: wait=N`, bounded; 0 for `respond-async` alone. Source  RFC 7240, sections 4.1 and 4.3 */
export function waitOf(prefer: string | undefined): number | undefined {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences.map((part) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(part)?.[1]).find(Boolean);
  if (wait !== undefined) return Math.min(Number(wait), RUN_WAIT_MAX_SECONDS);
  return preferences.includes('respond-async') ? 0 : undefined;
}

/** Headers that report the applied preference. */
export function preferenceApplied(prefer: string | undefined, waitSeconds: number): Record<string, string> {
  if (waitOf(prefer) === undefined) return {};
  return { 'Preference-Applied': waitSeconds === 0 ? 'respond-async' : `wait=${waitSeconds}` };
}
