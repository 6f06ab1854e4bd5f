import { Refusal } from '../../errors.js';
import { writeOutput } from '../search/output.js';
import type { CommandContext } from '../terminal/command.js';
import { runsClient } from './client.js';
import { requireCompleted } from './watch.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import { WIDE_ALIGNMENT_COLUMNS } from '../../services/export/columns.js';
import {
  LONE_QUERY_ID,
  type ExportEncoder,
  type ExportedSearch,
  type ExportQuery,
} from '../../services/export/rows.js';
import { wideEncoder } from '../../services/export/text.js';

export const RESULT_FORMATS = ['json', 'tsv'] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

/**
 * Writes the rows of a run to standard output or a file, and waits for rows that are not ready.
 * Errors  those of requireCompleted, after the rows that the run left; those of the client and of the file system
 */
export async function writeResults(
  id: string,
  { format, output }: { readonly format: ResultFormat; readonly output?: string },
  context: CommandContext,
): Promise<void> {
  const client = runsClient(context);
  await writeOutput(formatRows(client.results(id), format), output, context.stdout);
  requireCompleted(await client.run(id));
}

/**
 * Formats one JSON object a line, or one candidate a line with the columns of `gloaming search --format tsv
 * --alignments`. Rows of a propagated batch have its two columns, too, and lines in the order of their E-values.
 */
async function* formatRows(
  rows: AsyncIterable<unknown>,
  format: ResultFormat,
): AsyncGenerator<string | Uint8Array> {
  if (format === 'json') {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
    return;
  }
  let encoder: ExportEncoder | undefined;
  for await (const row of rows) {
    const { query, candidates, propagation } = candidatesOf(row);
    encoder ??= tableOf(propagation !== undefined);
    const propagated = propagation && { hits: propagation.hits, sort: 'evalue' as const };
    yield await encoder.add({ ...query, ...(propagated && { propagated }) }, candidates);
  }
  yield (encoder ?? tableOf(false)).end();
}

function tableOf(isPropagated: boolean): ExportEncoder {
  return wideEncoder({ ...UNNAMED, isPropagated }, WIDE_ALIGNMENT_COLUMNS);
}

/** The columns of this program do not name what was searched. */
const UNNAMED: ExportedSearch = { database: '', targetCount: 0, residueCount: 0 };

/** Returns the candidates of a row: a batch row holds those of a query, and a search row is one. */
function candidatesOf(row: unknown): {
  readonly query: ExportQuery;
  readonly candidates: readonly HomologyCandidate[];
  readonly propagation?: PresentedPropagation;
} {
  const batch = row as Partial<HomologyQueryResult & HomologyCandidate>;
  const { candidates, propagation, query_index: index = 0, query_id: id = LONE_QUERY_ID } = batch;
  if (candidates === undefined && batch.measurements === undefined)
    throw new Refusal('export_not_possible', 'The rows of this run are no candidates: read them as JSON.');
  return { query: { index, id }, candidates: candidates ?? [row as HomologyCandidate], propagation };
}
