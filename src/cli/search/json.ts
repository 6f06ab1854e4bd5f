import { presentSearch } from '../../services/search/present-search.js';
import { reportHtml, type ReportResult } from '../report/report.js';
import type { SearchOutput, SearchReport } from './report.js';

/* Responses in their contract form: as JSON, and as a page that shows them. */

/**
 * JSON Lines: one object per query, as the response of the homology route. Members that depend on request or time
 * (receipt, request id, usage, times) are left out, so that equal searches give equal text. `query.id` is added.
 * Errors  those of the reports
 */
export async function* formatJson(reports: AsyncIterable<SearchReport>): SearchOutput {
  for await (const report of reports) yield `${JSON.stringify(await presentReport(report))}\n`;
}

async function presentReport(report: SearchReport): Promise<Record<string, unknown>> {
  const { query: named, targetSpace } = report;
  const request = { ...report.request, query: named, targetSpace };
  const { query, database, execution, candidates, ...answer } = await presentSearch({ ...report, request });
  return {
    object: 'homology_candidate_set',
    query: { id: named.id, ...query },
    database,
    execution,
    ...answer,
    candidates,
  };
}

/** All queries as one page that any browser opens without a server. */
export async function* formatHtml(reports: AsyncIterable<SearchReport>): SearchOutput {
  yield* reportHtml({ title: 'Search', made_by: 'Gloaming' }, resultsOf(reports));
}

async function* resultsOf(reports: AsyncIterable<SearchReport>): AsyncGenerator<ReportResult> {
  for await (const report of reports) {
    const { query, request, targetSpace } = report;
    const found = await presentSearch({ ...report, request: { ...request, query, targetSpace } });
    yield {
      query: {
        id: query.id,
        sequence: query.sequence,
        ...(query.description !== undefined && { description: query.description }),
      },
      database: found.database,
      limit: request.limit,
      has_alignments: request.evidence === 'pairwise_sequence_alignment',
      is_result_limit_reached: found.is_result_limit_reached,
      result_sha256: found.result_sha256,
      candidates: found.candidates,
    };
  }
}
