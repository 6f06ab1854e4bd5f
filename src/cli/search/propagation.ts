import type { CutOffs } from '../../contract/search/selection.js';
import { propagationWithinCutOffs } from '../../services/select.js';
import { presentWalk } from '../../services/search/present-propagation.js';
import type { Propagation } from '../../services/search/propagation.js';
import type { SearchReport } from './report.js';

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
