import type { Warning } from '../../contract/grammar/envelope.js';
import type { RunFile } from '../../contract/runs/run-files.js';
import { RUN_ENDPOINTS, type EndpointContract, type RunEndpointKey } from '../../contract/runs/run-kinds.js';
import type { RunRow } from '../../store/tables/runs.js';

/** Members of the summaries of RUN_ENDPOINTS that name retrievable objects. */
interface Named {
  readonly warnings?: readonly Warning[];
  readonly receipt?: { readonly id: string };
  readonly msa?: { readonly id: string };
  readonly file?: RunFile;
  readonly files?: readonly RunFile[];
  readonly log?: RunFile;
}

/** Ids of objects that the run has made. */
export function outputsOf({ summary }: Pick<RunRow, 'summary'>): readonly string[] {
  const { receipt, msa, file, files = [], log } = (summary ?? {}) as Named;
  const stored = [file, ...files, log].filter((each) => each !== undefined);
  return [
    ...[receipt, msa].flatMap((each) => (each === undefined ? [] : [each.id])),
    ...stored.flatMap(({ file_id, object_id: object }) =>
      object === undefined ? [file_id] : [file_id, object],
    ),
  ];
}

/** Warnings of the run's result, which are also warnings of the run. */
export function warningsOf({ summary }: Pick<RunRow, 'summary'>): readonly Warning[] {
  return ((summary ?? {}) as Named).warnings ?? [];
}

/** Rows of the result so far; 1 for a run of a kind without rows. */
export function rowCountOf({ endpoint, rowCount }: Pick<RunRow, 'endpoint' | 'rowCount'>): number {
  const kind: EndpointContract | undefined = RUN_ENDPOINTS[endpoint as RunEndpointKey];
  return kind?.row === undefined ? 1 : rowCount;
}
