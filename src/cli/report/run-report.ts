import type { Client } from '../../clients/typescript/client.js';
import type { HomologyCandidate } from '../../clients/typescript/types/homology.js';
import type {
  BatchSearchRunSummary,
  HomologyQueryResult,
  Run,
  SearchRunSummary,
} from '../../clients/typescript/types/runs.js';
import { Refusal } from '../../errors.js';
import { reportHtml, type ReportResult } from './report.js';

/** The members of a receipt that a report needs. */
interface ReceiptContent {
  readonly query: { readonly sequence: string };
  readonly parameters: { readonly limit: number; readonly evidence: string };
}

/**
 * Writes the results of a completed run as a report, read from the server.
 * @param manual  URL of the server's manual
 * Errors  Refusal `run_not_completed`, `export_not_possible`; those of the server
 */
export async function* runReport(runId: string, server: Client, manual: string): AsyncGenerator<string> {
  const run = await server.run(runId);
  if (run.status !== 'completed') {
    throw new Refusal(
      'run_not_completed',
      `The run is ${run.status}; a report has the results of a completed one.`,
    );
  }
  const title = run.label ?? run.id;
  yield* reportHtml({ title, made_by: 'Gloaming', manual_url: manual }, resultsOf(run, server));
}

function resultsOf(run: Run, server: Client): AsyncGenerator<ReportResult> {
  if (run.endpoint === 'homology.batch_search') return batchResults(run, server);
  if (run.endpoint === 'homology.search') return singleResult(run, server);
  throw new Refusal('export_not_possible', `A run of ${run.endpoint} has no hits to report.`);
}

async function* batchResults(run: Run, server: Client): AsyncGenerator<ReportResult> {
  const { database } = run.result?.summary as BatchSearchRunSummary;
  for await (const row of server.results(run.id)) {
    const { query_id: id, receipt, ...result } = row as HomologyQueryResult;
    const { candidates, is_result_limit_reached, result_sha256, propagation } = result;
    const request = await requestOfReceipt(receipt.id, id, server);
    yield { ...request, database, candidates, is_result_limit_reached, result_sha256, propagation };
  }
}

async function* singleResult(run: Run, server: Client): AsyncGenerator<ReportResult> {
  const { database, receipt, result_sha256, propagation } = run.result?.summary as SearchRunSummary;
  const candidates: HomologyCandidate[] = [];
  for await (const row of server.results(run.id)) candidates.push(row as HomologyCandidate);
  const request = await requestOfReceipt(receipt.id, run.label ?? 'query', server);
  const is_result_limit_reached = candidates.length === request.limit;
  yield { ...request, database, candidates, is_result_limit_reached, result_sha256, propagation };
}

/** Reads the query and its settings from the receipt, because a result does not repeat them. */
async function requestOfReceipt(
  receiptId: string,
  id: string,
  server: Client,
): Promise<Pick<ReportResult, 'query' | 'limit' | 'has_alignments'>> {
  const { data } = await server.call('receipts.get', { params: { receipt_id: receiptId } });
  const { query, parameters } = data.content as unknown as ReceiptContent;
  return {
    query: { id, sequence: query.sequence },
    limit: parameters.limit,
    has_alignments: parameters.evidence === 'pairwise_sequence_alignment',
  };
}
