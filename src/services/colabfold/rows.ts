import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import { homologRow } from '../msa/homolog-rows.js';
import { candidateRow, type PossibleRow } from '../msa/rows.js';

/** A candidate as a row with a header of this interface. */
export function rowOf(candidate: HomologyCandidate, query: string): PossibleRow | undefined {
  const row = candidateRow(candidate, query);
  if (row === undefined) return undefined;
  const { target, measurements, significance, alignment } = candidate;
  const header = headerOf(query.length, {
    id: target.id,
    score: measurements.affine.raw_score,
    expected_false_hits: significance.measurements.expected_false_hits,
    ...(alignment as NonNullable<typeof alignment>),
  });
  return { ...row, write: () => ({ ...row.write(), header }) };
}

/** A homolog as a row with a header of this interface, in which its unknown score is `nan`. */
export function homologRowOf(homolog: ProteinHomolog, query: string, rank: number): PossibleRow {
  const row = homologRow(homolog, query, rank);
  return { ...row, write: () => ({ ...row.write(), header: headerOf(query.length, homolog) }) };
}

/** Values of a header. */
interface Described extends Pick<
  ProteinHomolog,
  | 'id'
  | 'sequence_identity_ratio'
  | 'query_start'
  | 'query_end'
  | 'target_start'
  | 'target_end'
  | 'target_length'
> {
  readonly score?: number;
  readonly expected_false_hits?: number;
}

/**
 * Ten columns separated by tabs: target, score, identity, E-value; first and last position and length of query and
 * target.
 * Unit    positions are zero-based with inclusive ends, as in the source; a missing number is `nan`
 * Source  alignments of MMseqs2 (result2msa) in the form of ColabFold's server
 */
function headerOf(queryLength: number, row: Described): string {
  return [
    row.id.replaceAll(/\s/g, '_'),
    row.score ?? 'nan',
    row.sequence_identity_ratio.toFixed(3),
    row.expected_false_hits?.toExponential(3).toUpperCase() ?? 'nan',
    ...[row.query_start, row.query_end - 1, queryLength],
    ...[row.target_start, row.target_end - 1, row.target_length],
  ].join('\t');
}
