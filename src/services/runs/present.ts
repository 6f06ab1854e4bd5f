import type { Run, RunProgress } from '../../contract/runs/runs.js';
import type { RunEndpointKey } from '../../contract/runs/run-kinds.js';
import { isFinal } from '../../contract/runs/run-states.js';
import type { RunRow } from '../../store/tables/runs.js';

/** A run in the words of the contract. */
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
