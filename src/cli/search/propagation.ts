import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { CutOffs, Sort } from '../../contract/search/selection.js';
import { cellText } from '../../services/export/fields.js';
import { needAlignments } from '../../services/select.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import { presentPropagation } from '../../services/search/present-propagation.js';
import { propagateSearch, type Propagation } from '../../services/search/propagation.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { columnsOf } from './encoded.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

type PropagatedHit = PresentedPropagation['hits'][number];

/** One line of the table: a candidate, a propagated hit, or a candidate that propagation reaches, too. */
interface Line {
  readonly candidate?: HomologyCandidate;
  readonly hit?: PropagatedHit;
}

const SEARCHED = { database: '', targetCount: 0, residueCount: 0 };

/**
 * Adds the propagated hits to each report, before its candidates are selected.
 * Errors  those of the reports
 */
export async function* propagateReports(
  reports: AsyncIterable<SearchReport>,
  propagation: Propagation,
  cutOffs: CutOffs,
): AsyncGenerator<SearchReport> {
  const { maximum_expected_false_hits: largest = Infinity } = cutOffs;
  // A hit that is no candidate has no alignment with the query.
  const needsAlignment = needAlignments(cutOffs);
  for await (const report of reports) {
    const { engine, query, result, targetSpace } = report;
    const { candidates } = result;
    const searched = { sequence: query.sequence, candidates, targetSpace };
    const hits = propagateSearch(searched, engine, propagation);
    const presented = presentPropagation(hits, candidates, engine, propagation);
    const shown = presented.hits.filter(
      ({ expected_false_hits: expected, is_candidate: isCandidate }) =>
        expected <= largest && (isCandidate || !needsAlignment),
    );
    yield { ...report, propagation: { ...presented, hits: shown } };
  }
}

/**
 * Tab-separated values of propagated searches, with two more columns. A hit that is no candidate has no measurements,
 * so that their cells are empty.
 * Errors  those of the reports
 */
export async function* formatPropagatedTsv(
  reports: AsyncIterable<SearchReport>,
  layout: Layout,
): SearchOutput {
  const columns = columnsOf(layout);
  const names = [...columns.map(({ name }) => name), 'propagation.expected_false_hits', 'propagation.bridge'];
  yield `${names.join('\t')}\n`;
  let index = 0;
  for await (const report of reports) {
    const { id, sequence } = report.query;
    const query = { index, id, sequence };
    index += 1;
    const lines = linesOf(report).map(({ candidate, hit }) => {
      const direct = columns.map(({ name, value }) => {
        if (candidate !== undefined) return value({ query, search: SEARCHED, candidate });
        if (name === 'query_id') return id;
        return name === 'target_id' ? hit?.target_id : undefined;
      });
      const cells = [...direct, hit?.expected_false_hits, hit?.bridge?.target_id];
      return `${cells.map((cell) => cellText(String(cell ?? ''))).join('\t')}\n`;
    });
    yield lines.join('');
  }
}

/** Candidates and further propagated hits: by the smaller of their E-values, or the candidates first. */
function linesOf({ result, release, propagation, sort }: SearchReport): readonly Line[] {
  const hits = new Map(propagation?.hits.map((hit) => [hit.target_id, hit]));
  const direct = result.candidates.map((each) => {
    const candidate = presentCandidate(each, result.queryLength, release);
    return { candidate, hit: hits.get(candidate.target.id) };
  });
  for (const { candidate } of direct) hits.delete(candidate.target.id);
  const others = [...hits.values()].map((hit) => ({ hit }));
  const lines: readonly Line[] = [...direct, ...others];
  return sort === BY_EVALUE ? lines.toSorted((a, b) => logEValueOf(a) - logEValueOf(b)) : lines;
}

const BY_EVALUE: Sort = 'evalue';
/** Lines without any E-value are last. It is finite, because the difference of two infinities is no number. */
const WITHOUT_EVALUE = Number.MAX_VALUE;

function logEValueOf({ candidate, hit }: Line): number {
  const direct = candidate?.significance.measurements.log_expected_false_hits ?? WITHOUT_EVALUE;
  return Math.min(direct, hit?.log_expected_false_hits ?? WITHOUT_EVALUE);
}
