import type { CutOffs } from '../../contract/search/selection.js';
import { propagatedHeader, propagatedLines } from '../../services/export/propagated.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import { presentWalk, propagationWithinCutOffs } from '../../services/search/present-propagation.js';
import type { Propagation } from '../../services/search/propagation.js';
import { columnsOf } from './encoded.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

/**
 * Adds the propagated hits to each report, before its candidates are selected.
 * Errors  those of the reports
 */
export async function* propagateReports(
  reports: AsyncIterable<SearchReport>,
  propagation: Propagation,
  cutOffs: CutOffs,
): AsyncGenerator<SearchReport> {
  for await (const report of reports) {
    const { engine, query, result, targetSpace } = report;
    const searched = { sequence: query.sequence, candidates: result.candidates, targetSpace };
    const walked = presentWalk(searched, engine, propagation);
    yield { ...report, propagation: propagationWithinCutOffs(walked, cutOffs) };
  }
}

/**
 * Tab-separated values of propagated searches, with two more columns.
 * Errors  those of the reports
 */
export async function* formatPropagatedTsv(
  reports: AsyncIterable<SearchReport>,
  layout: Layout,
): SearchOutput {
  const columns = columnsOf(layout);
  yield propagatedHeader(columns);
  let index = 0;
  for await (const { query: searched, result, release, propagation, sort } of reports) {
    const query = { index, id: searched.id, sequence: searched.sequence };
    index += 1;
    const candidates = result.candidates.map((each) => presentCandidate(each, result.queryLength, release));
    yield propagatedLines({ query, candidates, propagation, sort }, columns);
  }
}
