import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult, SearchRunSummary } from '../../contract/runs/run-kinds.js';
import { Refusal } from '../../errors.js';
import type { RunRow } from '../../store/tables/runs.js';
import type { RequestContext } from '../context.js';
import { formatOf, tableFormat, type ExportFormat } from '../export/formats.js';
import { isBatch, LONE_QUERY_ID, type ExportedSearch, type ExportQuery } from '../export/rows.js';
import { readFormatOutput, readOutfmt } from '../export/table-spec.js';
import type { Receipts } from '../search/receipts.js';

/** The requested columns; default: Gloaming's own. */
export interface TableRequest {
  readonly outfmt?: string | undefined;
  readonly format_output?: string | undefined;
}

/**
 * Table format for a page of results.
 * Errors  Refusal `export_not_possible` for unknown columns, and for formats of whole files
 */
export function pageFormat({ outfmt, format_output: formatOutput }: TableRequest): ExportFormat {
  if (outfmt !== undefined && formatOutput !== undefined)
    throw notPossible('format_output', 'Name the columns by outfmt or by format_output.');
  if (formatOutput !== undefined) return tableFormat(readFormatOutput(formatOutput));
  if (outfmt === undefined) return formatOf({ format: 'tsv' });
  const format = tableFormat(readOutfmt(outfmt));
  if (!format.needsWholeQueries) return format;
  throw notPossible('outfmt', 'A page is a table of outfmt 6; an export writes files of outfmt 5 and 7.');
}

/**
 * Returns the rows of a page as a table.
 * Errors  Refusal `export_not_possible` for a run without candidates, or without the alignments that the columns need;
 *         `run_not_completed` if other tools' columns are requested before its end; those of receipts
 */
export async function tableOfPage(
  run: RunRow,
  rows: readonly unknown[],
  format: ExportFormat,
  receipts: Pick<Receipts, 'get'>,
  context: RequestContext,
): Promise<Buffer> {
  if (run.endpoint !== 'homology.search' && !isBatch(run))
    throw notPossible(
      'run_id',
      `A run of ${run.endpoint} has no candidates; runs of homology searches have.`,
    );
  // Columns of other tools need the number of searched targets, which is in the summary.
  if (format.needsAlignments && run.status !== 'completed')
    throw new Refusal(
      'run_not_completed',
      `The run is ${run.status}; other tools' columns come with its end.`,
    );
  const sequenceOf = (receiptId: string): Pick<ExportQuery, 'sequence'> => {
    if (!format.needsQueries) return {};
    const { query } = receipts.get(receiptId, context).value.content as unknown as QueryOfReceipt;
    return { sequence: query.sequence };
  };
  const summary = run.summary as SearchRunSummary | undefined;
  const encoder = format.encoder({ ...searchOf(summary), isPropagated: isPropagated(rows) });
  const pieces: Uint8Array[] = [];
  if (isBatch(run)) {
    for (const { query_index: index, query_id: id, ...row } of rows as readonly HomologyQueryResult[]) {
      refuseWithoutAlignments(format, row.candidates);
      const propagated = row.propagation && { hits: row.propagation.hits, sort: 'rank' as const };
      const query = { index, id, ...sequenceOf(row.receipt.id), ...(propagated && { propagated }) };
      pieces.push(await encoder.add(query, row.candidates));
    }
  } else {
    const candidates = rows as readonly HomologyCandidate[];
    refuseWithoutAlignments(format, candidates);
    const query = { index: 0, id: LONE_QUERY_ID, ...(summary && sequenceOf(summary.receipt.id)) };
    pieces.push(await encoder.add(query, candidates));
  }
  return Buffer.concat([...pieces, encoder.end()]);
}

/** Whether the rows are those of a propagated batch. A search with one query has its propagated hits in the summary. */
function isPropagated([first]: readonly unknown[]): boolean {
  return (first as Partial<HomologyQueryResult> | undefined)?.propagation !== undefined;
}

/** Member of a receipt that services/search/receipts.ts writes. */
interface QueryOfReceipt {
  readonly query: { readonly sequence: string };
}

function searchOf(summary: SearchRunSummary | undefined): ExportedSearch {
  if (summary === undefined) return { database: '', targetCount: 0, residueCount: 0 };
  const { slug, searched_target_count, searched_residue_count } = summary.database;
  return { database: slug, targetCount: searched_target_count, residueCount: searched_residue_count };
}

function refuseWithoutAlignments(format: ExportFormat, [first]: readonly HomologyCandidate[]): void {
  if (!format.needsAlignments || first === undefined || first.alignment !== undefined) return;
  throw notPossible(
    'outfmt',
    'These columns need alignments, and the run has none. Search with evidence "pairwise_sequence_alignment".',
  );
}

function notPossible(param: string, message: string): Refusal {
  return new Refusal('export_not_possible', message, { param });
}
