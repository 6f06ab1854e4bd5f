import { summariseEvidence } from '../../services/search/present-candidates.js';
import {
  presentCandidates,
  presentDatabase,
  presentExecution,
  presentQuery,
  RANKING,
  searchWarnings,
} from '../../services/search/present-search.js';
import type { SearchOutput, SearchReport } from './report.js';

/**
 * JSON Lines: one object per query, in the words of the homology route. What belongs to one request and its moment
 * (receipt, request id, usage, times) is left out, so that equal searches give equal text; `query.id` is added.
 */
export async function* formatJson(reports: AsyncIterable<SearchReport>): SearchOutput {
  for await (const report of reports) yield `${JSON.stringify(presentReport(report))}\n`;
}

function presentReport(report: SearchReport): Record<string, unknown> {
  const { query, result, request, release, engine, database, targetSpace, serverVersion } = report;
  const { created_at: _, ...execution } = presentExecution(engine, result, '', serverVersion);
  return {
    object: 'homology_candidate_set',
    query: { id: query.id, ...presentQuery(query) },
    database: presentDatabase(database, engine, targetSpace),
    execution,
    evidence_summary: summariseEvidence(request, result),
    is_result_limit_reached: result.isResultLimitReached,
    ranking: RANKING,
    result_sha256: result.resultSha256,
    warnings: searchWarnings(engine, targetSpace, result.kernelRetry?.servedBy),
    candidates: presentCandidates(result, release),
  };
}
