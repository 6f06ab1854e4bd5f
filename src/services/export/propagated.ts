import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { Sort } from '../../contract/search/selection.js';
import type { ExportColumn } from './columns.js';
import { cellText } from './fields.js';
import type { ExportQuery } from './rows.js';

/* Tab-separated values of propagated searches, with two more columns than those of direct ones. */

type PropagatedHit = PresentedPropagation['hits'][number];

/** One line of the table: a candidate, a propagated hit, or a candidate that propagation reaches, too. */
interface Line {
  readonly candidate?: HomologyCandidate;
  readonly hit?: PropagatedHit;
}

/** The answer to one query. */
export interface PropagatedAnswer {
  readonly query: ExportQuery;
  readonly candidates: readonly HomologyCandidate[];
  readonly propagation: PresentedPropagation | undefined;
  readonly sort: Sort;
}

const SEARCHED = { database: '', targetCount: 0, residueCount: 0 };

/** Returns the header of the table. */
export function propagatedHeader(columns: readonly ExportColumn[]): string {
  const names = [...columns.map(({ name }) => name), 'propagation.expected_false_hits', 'propagation.bridge'];
  return `${names.join('\t')}\n`;
}

/** Returns the lines of one query. A hit that is no candidate has no measurements: their cells are empty. */
export function propagatedLines(answer: PropagatedAnswer, columns: readonly ExportColumn[]): string {
  const { query } = answer;
  const lines = linesOf(answer).map(({ candidate, hit }) => {
    const direct = columns.map(({ name, value }) => {
      if (candidate !== undefined) return value({ query, search: SEARCHED, candidate });
      if (name === 'query_id') return query.id;
      return name === 'target_id' ? hit?.target_id : undefined;
    });
    const cells = [...direct, hit?.expected_false_hits, hit?.bridge?.target_id];
    return `${cells.map((cell) => cellText(String(cell ?? ''))).join('\t')}\n`;
  });
  return lines.join('');
}

/** Candidates and further propagated hits: by the smaller of their E-values, or the candidates first. */
function linesOf({ candidates, propagation, sort }: PropagatedAnswer): readonly Line[] {
  const hits = new Map(propagation?.hits.map((hit) => [hit.target_id, hit]));
  const direct = candidates.map((candidate) => ({ candidate, hit: hits.get(candidate.target.id) }));
  for (const { target } of candidates) hits.delete(target.id);
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
