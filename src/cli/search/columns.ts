import { expectedFalseHits } from '../../search/candidate-significance.js';
import type { Candidate } from '../../search/search-types.js';
import { significanceStatus } from '../../services/search/present-significance.js';
import { alignmentOf, type SearchReport, targetId } from './report.js';

/** A column of the machine-readable tables; undefined is an absent value. */
export interface SearchColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number';
  value(candidate: Candidate, report: SearchReport): string | number | undefined;
}

/** The columns of every answer; their names and order are a promise to scripts. */
const CANDIDATE_COLUMNS: readonly SearchColumn[] = [
  { name: 'query_id', type: 'string', value: (_, { query }) => query.id },
  { name: 'target_id', type: 'string', value: (candidate, report) => targetId(report, candidate) },
  { name: 'rank', type: 'integer', value: ({ rank }) => rank },
  { name: 'maxsim.bidirectional', type: 'number', value: ({ maxsim }) => maxsim.bidirectional },
  { name: 'maxsim.query_to_target', type: 'number', value: ({ maxsim }) => maxsim.queryToTarget },
  { name: 'maxsim.target_to_query', type: 'number', value: ({ maxsim }) => maxsim.targetToQuery },
  { name: 'affine.raw_score', type: 'integer', value: ({ affine }) => affine.rawScore },
  { name: 'affine.normalized_score', type: 'number', value: ({ affine }) => affine.normalizedScore },
  {
    name: 'significance.status',
    type: 'string',
    value: ({ significance }) => significanceStatus(significance),
  },
  { name: 'significance.expected_false_hits', type: 'number', value: expectedFalseHits },
];

/** Zero-based half-open coordinates and extended CIGAR, as in the answers over HTTP. */
const ALIGNMENT_COLUMNS: readonly SearchColumn[] = [
  { name: 'query_start', type: 'integer', value: (candidate) => alignmentOf(candidate)?.queryStart },
  { name: 'query_end', type: 'integer', value: (candidate) => alignmentOf(candidate)?.queryEnd },
  { name: 'target_start', type: 'integer', value: (candidate) => alignmentOf(candidate)?.targetStart },
  { name: 'target_end', type: 'integer', value: (candidate) => alignmentOf(candidate)?.targetEnd },
  { name: 'identity', type: 'number', value: (candidate) => alignmentOf(candidate)?.sequenceIdentityRatio },
  { name: 'cigar', type: 'string', value: (candidate) => alignmentOf(candidate)?.cigar },
];

export function searchColumns(hasAlignments: boolean): readonly SearchColumn[] {
  return hasAlignments ? [...CANDIDATE_COLUMNS, ...ALIGNMENT_COLUMNS] : CANDIDATE_COLUMNS;
}
