import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { Sort } from '../../contract/search/selection.js';
import { jointEValue, jointLogEValue } from '../../significance/joint-evalue.js';
import { alignedRows, type ColumnRow, type ExportedSearch, type ExportQuery } from './rows.js';

/**
 * Rows of our own formats: one for each alignment of each candidate, and one for each propagated hit that is no
 * candidate. They are in the order of the joint E-value, or the candidates come first.
 * Shape   a row without candidate has no measurements
 */
export function columnRows(
  query: ExportQuery,
  search: ExportedSearch,
  candidates: readonly HomologyCandidate[],
): readonly ColumnRow[] {
  const direct = alignedRows(query, search, candidates);
  if (query.propagated === undefined) return direct;
  const { hits, sort } = query.propagated;
  const hitOf = new Map(hits.map((hit) => [hit.target_id, hit]));
  const joined = direct.map((row) => ({ ...row, hit: hitOf.get(row.candidate.target.id) }));
  for (const { candidate } of direct) hitOf.delete(candidate.target.id);
  const others = [...hitOf.values()].map((hit) => ({ query, search, hit }));
  const rows: readonly ColumnRow[] = [...joined, ...others];
  return sort === BY_EVALUE ? rows.toSorted((a, b) => orderOf(a) - orderOf(b)) : rows;
}

const BY_EVALUE: Sort = 'evalue';
/** Rows without any E-value are last. It is finite, because the difference of two infinities is no number. */
const WITHOUT_EVALUE = Number.MAX_VALUE;

function orderOf(row: ColumnRow): number {
  return Math.min(jointLogEValue(...logEValuesOf(row)), WITHOUT_EVALUE);
}

/** The joint E-value of a row, by which such lists are ordered; undefined without propagation or any E-value. */
export function jointEValueOf(row: ColumnRow): number | undefined {
  return row.query.propagated === undefined ? undefined : jointEValue(...logEValuesOf(row));
}

/** ln of the direct E-value of a row, and of that of its walk. */
function logEValuesOf({ candidate, hit }: ColumnRow): [number | undefined, number | undefined] {
  return [candidate?.significance.measurements.log_expected_false_hits, hit?.log_expected_false_hits];
}
