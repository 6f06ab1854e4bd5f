import { presentSearch } from '../../services/search/present-search.js';
import type { SearchOutput, SearchReport } from './report.js';

/**
 * JSON Lines: one object per query, in the words of the homology route. What belongs to one request and its moment
 * (receipt, request id, usage, times) is left out, so that equal searches give equal text; `query.id` is added.
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
