import { presentSearch } from '../../services/search/present-search.js';
import { reportHtml, type ReportResult } from '../report/report.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

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
    ...(report.propagation !== undefined && { propagation: report.propagation }),
  };
}

/** All queries as one page that any browser opens without a server. The first answer names the searched database. */
export async function* formatHtml(
  reports: AsyncIterable<SearchReport>,
  { manual }: Pick<Layout, 'manual'>,
): SearchOutput {
  const iterator = reports[Symbol.asyncIterator]();
  const first = await iterator.next();
  const head = { title: 'Search', made_by: 'Gloaming', manual_url: manual };
  if (first.done === true) return yield* reportHtml(head, resultsOf(reports));
  const { database, sort } = first.value;
  const all = { [Symbol.asyncIterator]: () => startingWith(first.value, iterator) };
  yield* reportHtml({ ...head, title: `Search of ${database.slug}`, sort }, resultsOf(all));
}

async function* startingWith(
  first: SearchReport,
  others: AsyncIterator<SearchReport>,
): AsyncGenerator<SearchReport> {
  yield first;
  for (let next = await others.next(); next.done !== true; next = await others.next()) yield next.value;
}

async function* resultsOf(reports: AsyncIterable<SearchReport>): AsyncGenerator<ReportResult> {
  for await (const report of reports) {
    const { query, request, targetSpace } = report;
    const answer = await presentSearch({ ...report, request: { ...request, query, targetSpace } });
    yield {
      query: {
        id: query.id,
        sequence: query.sequence,
        ...(query.description !== undefined && { description: query.description }),
        ...(request.queryRange && { range: request.queryRange }),
      },
      database: answer.database,
      limit: request.limit,
      has_alignments: request.evidence === 'pairwise_sequence_alignment',
      ...(request.databaseSize !== undefined && { database_size: request.databaseSize }),
      is_result_limit_reached: answer.is_result_limit_reached,
      result_sha256: answer.result_sha256,
      candidates: answer.candidates,
      ...(report.propagation && { propagation: report.propagation }),
    };
  }
}
