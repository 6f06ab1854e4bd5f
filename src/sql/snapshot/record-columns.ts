import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import { jointEValue } from '../../significance/joint-evalue.js';
import type { RunRow } from '../../store/tables/runs.js';
import type { UsageEntry } from '../../store/tables/usage.js';
import type { ParquetColumn } from './parquet.js';

/** A candidate or propagated hit of a run, with its query. */
export interface CandidateRow {
  readonly queryIndex: number;
  readonly queryId?: string;
  readonly releaseId?: string;
  /** Absent for a target that only propagation reaches. */
  readonly candidate?: HomologyCandidate;
  readonly hit?: PresentedPropagation['hits'][number];
  /** Whether the query has propagated hits; only then a joint E-value exists. */
  readonly isPropagated: boolean;
}

/** Members that summaries of runs may have, over all run endpoints. */
export interface RunSummary {
  readonly database?: {
    readonly slug?: string;
    readonly release_id?: string;
    readonly target_space_id?: string;
  };
  readonly candidate_count?: number;
  readonly result_sha256?: string;
  readonly receipt?: { readonly id?: string };
  readonly propagation?: PresentedPropagation;
}

const summaryOf = (run: RunRow): RunSummary => (run.summary ?? {}) as RunSummary;

export const RUN_COLUMNS: readonly ParquetColumn<RunRow>[] = [
  { name: 'run_id', type: 'string', read: ({ id }) => id },
  { name: 'endpoint', type: 'string', read: ({ endpoint }) => endpoint },
  { name: 'status', type: 'string', read: ({ status }) => status },
  { name: 'label', type: 'string', read: ({ label }) => label },
  { name: 'priority', type: 'string', read: ({ priority }) => priority },
  { name: 'created_at', type: 'moment', read: ({ createdAt }) => createdAt },
  { name: 'started_at', type: 'moment', read: ({ startedAt }) => startedAt },
  { name: 'finished_at', type: 'moment', read: ({ finishedAt }) => finishedAt },
  { name: 'expires_at', type: 'moment', read: ({ expiresAt }) => expiresAt },
  { name: 'attempt_count', type: 'integer', read: ({ attemptCount }) => attemptCount },
  { name: 'total_count', type: 'integer', read: ({ totalCount }) => totalCount },
  { name: 'done_count', type: 'integer', read: ({ doneCount }) => doneCount },
  { name: 'work_ms', type: 'number', read: ({ workMs }) => workMs },
  { name: 'row_count', type: 'integer', read: ({ rowCount }) => rowCount },
  { name: 'database', type: 'string', read: (run) => summaryOf(run).database?.slug },
  { name: 'database_release_id', type: 'string', read: (run) => summaryOf(run).database?.release_id },
  { name: 'target_space_id', type: 'string', read: (run) => summaryOf(run).database?.target_space_id },
  { name: 'candidate_count', type: 'integer', read: (run) => candidateCount(run) },
  { name: 'result_sha256', type: 'string', read: (run) => summaryOf(run).result_sha256 },
  { name: 'receipt_id', type: 'string', read: (run) => summaryOf(run).receipt?.id },
  { name: 'billable_units', type: 'integer', read: ({ billableUnits }) => billableUnits },
  { name: 'error_code', type: 'string', read: ({ error }) => error?.code },
  { name: 'error_message', type: 'string', read: ({ error }) => error?.message },
];

/** Number of candidates. A search has them as rows; a batch has the count in its summary. */
function candidateCount(run: RunRow): number | undefined {
  const { candidate_count: counted } = summaryOf(run);
  return counted ?? (run.endpoint === 'homology.search' ? run.rowCount : undefined);
}

export const USAGE_COLUMNS: readonly ParquetColumn<UsageEntry>[] = [
  { name: 'id', type: 'string', read: ({ id }) => id },
  { name: 'endpoint', type: 'string', read: ({ endpoint }) => endpoint },
  { name: 'units', type: 'integer', read: ({ units }) => units },
  { name: 'formula_id', type: 'string', read: ({ formulaId }) => formulaId },
  { name: 'created_at', type: 'moment', read: ({ createdAt }) => createdAt },
];

type Alignment = NonNullable<HomologyCandidate['alignment']>;
type Judgement = HomologyCandidate['significance']['measurements'];

const alignment = (
  name: keyof Alignment & string,
  type: 'string' | 'int32' | 'number',
): ParquetColumn<CandidateRow> => ({
  name: name === 'cigar' ? name : `alignment_${name}`,
  type,
  read: ({ candidate }) => candidate?.alignment?.[name],
});
const judgement = (name: keyof Judgement & string): ParquetColumn<CandidateRow> => ({
  name,
  type: 'number',
  read: ({ candidate }) => candidate?.significance.measurements[name],
});

function jointEValueOf({ candidate, hit, isPropagated }: CandidateRow): number | undefined {
  const direct = candidate?.significance.measurements.log_expected_false_hits;
  return isPropagated ? jointEValue(direct, hit?.log_expected_false_hits) : undefined;
}

export const CANDIDATE_COLUMNS: readonly ParquetColumn<CandidateRow>[] = [
  { name: 'query_index', type: 'int32', read: ({ queryIndex }) => queryIndex },
  { name: 'query_id', type: 'string', read: ({ queryId }) => queryId },
  { name: 'rank', type: 'int32', read: ({ candidate }) => candidate?.rank },
  { name: 'release_id', type: 'string', read: ({ releaseId }) => releaseId },
  { name: 'target_id', type: 'string', read: ({ candidate, hit }) => candidate?.target.id ?? hit?.target_id },
  {
    name: 'maxsim_bidirectional',
    type: 'number',
    read: ({ candidate }) => candidate?.measurements.maxsim.bidirectional,
  },
  {
    name: 'maxsim_query_to_target',
    type: 'number',
    read: ({ candidate }) => candidate?.measurements.maxsim.query_to_target,
  },
  {
    name: 'maxsim_target_to_query',
    type: 'number',
    read: ({ candidate }) => candidate?.measurements.maxsim.target_to_query,
  },
  {
    name: 'affine_raw_score',
    type: 'number',
    read: ({ candidate }) => candidate?.measurements.affine.raw_score,
  },
  {
    name: 'affine_normalized_score',
    type: 'number',
    read: ({ candidate }) => candidate?.measurements.affine.normalized_score,
  },
  { name: 'significance_status', type: 'string', read: ({ candidate }) => candidate?.significance.status },
  { name: 'significance_reason', type: 'string', read: ({ candidate }) => candidate?.significance.reason },
  judgement('expected_false_hits'),
  judgement('log_expected_false_hits'),
  judgement('q_value'),
  judgement('bit_score'),
  judgement('pair_tail_probability'),
  judgement('pair_tail_log_probability'),
  judgement('homology_probability'),
  alignment('query_start', 'int32'),
  alignment('query_end', 'int32'),
  alignment('query_length', 'int32'),
  alignment('target_start', 'int32'),
  alignment('target_end', 'int32'),
  alignment('target_length', 'int32'),
  alignment('aligned_residue_count', 'int32'),
  alignment('identical_residue_count', 'int32'),
  alignment('gap_opening_count', 'int32'),
  alignment('gap_residue_count', 'int32'),
  alignment('sequence_identity_ratio', 'number'),
  alignment('query_coverage_ratio', 'number'),
  alignment('target_coverage_ratio', 'number'),
  alignment('cigar', 'string'),
  { name: 'propagation_expected_false_hits', type: 'number', read: ({ hit }) => hit?.expected_false_hits },
  { name: 'propagation_joint_expected_false_hits', type: 'number', read: jointEValueOf },
  { name: 'propagation_bridge', type: 'string', read: ({ hit }) => hit?.bridge?.target_id },
];
