import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { assert } from '../../errors.js';
import { EXPORT_GROUP_MAX_BYTES, EXPORT_GROUP_MAX_ROWS } from '../../limits.js';
import { jointEValueOf } from './propagated.js';
import type { ColumnRow, ExportedSearch } from './rows.js';

/** A column of Gloaming's own tables and files. undefined becomes null. */
export interface ExportColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number';
  readonly value: (row: ColumnRow) => string | number | undefined;
}

type Read = (candidate: HomologyCandidate) => string | number | undefined;

function column(name: string, type: ExportColumn['type'], read: Read): ExportColumn {
  return { name, type, value: ({ candidate }) => candidate && read(candidate) };
}

/** Names and order are a stable interface. Coordinates are zero-based and half-open. */
export const EXPORT_COLUMNS: readonly ExportColumn[] = [
  { name: 'query_index', type: 'integer', value: ({ query }) => query.index },
  { name: 'query_id', type: 'string', value: ({ query }) => query.id },
  column('rank', 'integer', ({ rank }) => rank),
  {
    name: 'target_id',
    type: 'string',
    value: ({ candidate, hit }) => candidate?.target.id ?? hit?.target_id,
  },
  column('target_sequence', 'string', ({ target }) => target.sequence),
  column('target_attributes', 'string', ({ target }) => JSON.stringify(target.attributes)),
  column('maxsim_bidirectional', 'number', ({ measurements: { maxsim } }) => maxsim.bidirectional),
  column('maxsim_query_to_target', 'number', ({ measurements: { maxsim } }) => maxsim.query_to_target),
  column('maxsim_target_to_query', 'number', ({ measurements: { maxsim } }) => maxsim.target_to_query),
  column('affine_raw_score', 'integer', ({ measurements: { affine } }) => affine.raw_score),
  column('affine_normalized_score', 'number', ({ measurements: { affine } }) => affine.normalized_score),
  column('query_start', 'integer', ({ alignment }) => alignment?.query_start),
  column('query_end', 'integer', ({ alignment }) => alignment?.query_end),
  column('query_length', 'integer', ({ alignment }) => alignment?.query_length),
  column('target_start', 'integer', ({ alignment }) => alignment?.target_start),
  column('target_end', 'integer', ({ alignment }) => alignment?.target_end),
  column('target_length', 'integer', ({ target }) => target.sequence.length),
  column('aligned_residue_count', 'integer', ({ alignment }) => alignment?.aligned_residue_count),
  column('identical_residue_count', 'integer', ({ alignment }) => alignment?.identical_residue_count),
  column('gap_opening_count', 'integer', ({ alignment }) => alignment?.gap_opening_count),
  column('gap_residue_count', 'integer', ({ alignment }) => alignment?.gap_residue_count),
  column('sequence_identity_ratio', 'number', ({ alignment }) => alignment?.sequence_identity_ratio),
  column('query_coverage_ratio', 'number', ({ alignment }) => alignment?.query_coverage_ratio),
  column('target_coverage_ratio', 'number', ({ alignment }) => alignment?.target_coverage_ratio),
  column('cigar', 'string', ({ alignment }) => alignment?.cigar),
  column('significance_status', 'string', ({ significance }) => significance.status),
  column('significance_reason', 'string', ({ significance }) => significance.reason),
  column(
    'expected_false_hits',
    'number',
    ({ significance: { measurements } }) => measurements.expected_false_hits,
  ),
  column('bit_score', 'number', ({ significance: { measurements } }) => measurements.bit_score),
  column('q_value', 'number', ({ significance: { measurements } }) => measurements.q_value),
  column(
    'homology_probability',
    'number',
    ({ significance: { measurements } }) => measurements.homology_probability,
  ),
  { name: 'propagation_expected_false_hits', type: 'number', value: ({ hit }) => hit?.expected_false_hits },
  { name: 'propagation_bridge', type: 'string', value: ({ hit }) => hit?.bridge?.target_id },
  { name: 'propagation_joint_expected_false_hits', type: 'number', value: jointEValueOf },
  {
    name: 'conditional_expected_false_hits',
    type: 'number',
    value: ({ conditionalEValue }) => conditionalEValue,
  },
];

/** Returns a column of EXPORT_COLUMNS under its name in text formats. */
function renamed(name: string, column: string): ExportColumn {
  const exported = EXPORT_COLUMNS.find((each) => each.name === column);
  assert(exported !== undefined, `${column} is a column of the exports`);
  return { ...exported, name };
}

/**
 * A column of distances in text formats. Quantisation can make the distance of a protein to itself slightly negative:
 * such a value is 0 in the text.
 */
function distance(name: string, column: string): ExportColumn {
  const { value, ...rest } = renamed(name, column);
  return {
    ...rest,
    value: (row) => (row.candidate === undefined ? undefined : Math.max(0, Number(value(row)))),
  };
}

/** Columns of the wide table, independent of the request; a stable interface for scripts. */
export const WIDE_COLUMNS: readonly ExportColumn[] = [
  renamed('query_id', 'query_id'),
  renamed('target_id', 'target_id'),
  renamed('rank', 'rank'),
  distance('maxsim.bidirectional', 'maxsim_bidirectional'),
  distance('maxsim.query_to_target', 'maxsim_query_to_target'),
  distance('maxsim.target_to_query', 'maxsim_target_to_query'),
  renamed('affine.raw_score', 'affine_raw_score'),
  renamed('affine.normalized_score', 'affine_normalized_score'),
  renamed('significance.status', 'significance_status'),
  renamed('significance.expected_false_hits', 'expected_false_hits'),
];

/** The wide columns and those of the alignment: zero-based half-open coordinates and extended CIGAR. */
export const WIDE_ALIGNMENT_COLUMNS: readonly ExportColumn[] = [
  ...WIDE_COLUMNS,
  ...[
    renamed('query_start', 'query_start'),
    renamed('query_end', 'query_end'),
    renamed('target_start', 'target_start'),
    renamed('target_end', 'target_end'),
    renamed('identity', 'sequence_identity_ratio'),
    renamed('cigar', 'cigar'),
  ].map(ofAligned),
];

/** Column of text formats that a search with probabilities has beside the others. */
export const PROBABILITY_COLUMN = column(
  'significance.homology_probability',
  'number',
  ({ significance: { measurements } }) => measurements.homology_probability,
);

/** Column of text formats that a search for several alignments of a target has beside the others. */
export const CONDITIONAL_COLUMN = renamed(
  'significance.conditional_expected_false_hits',
  'conditional_expected_false_hits',
);

const PROPAGATION_COLUMNS: readonly ExportColumn[] = [
  renamed('propagation.expected_false_hits', 'propagation_expected_false_hits'),
  renamed('propagation.bridge', 'propagation_bridge'),
  renamed('propagation.joint_expected_false_hits', 'propagation_joint_expected_false_hits'),
];

/** Returns the columns of a table of our own, with those of propagation if the search was propagated. */
export function columnsOfSearch(
  { isPropagated = false }: Pick<ExportedSearch, 'isPropagated'>,
  direct: readonly ExportColumn[],
): readonly ExportColumn[] {
  return isPropagated ? [...direct, ...PROPAGATION_COLUMNS] : direct;
}

/** A column that is absent if no part of the pair is aligned. */
function ofAligned({ value, ...column }: ExportColumn): ExportColumn {
  return { ...column, value: (row) => (row.candidate?.alignment?.cigar === '' ? undefined : value(row)) };
}

/** Candidates that wait until a group of columns is full. */
export class ColumnGroups {
  #waiting: ColumnRow[] = [];
  #waitingBytes = 0;

  /** Returns the groups that are now full. A group has EXPORT_GROUP_MAX_ROWS rows, or fewer if their text is long. */
  add(rows: readonly ColumnRow[]): readonly (readonly ColumnRow[])[] {
    const full: (readonly ColumnRow[])[] = [];
    for (const row of rows) {
      this.#waiting.push(row);
      this.#waitingBytes += row.candidate?.target.sequence.length ?? 0;
      const isFull =
        this.#waiting.length >= EXPORT_GROUP_MAX_ROWS || this.#waitingBytes >= EXPORT_GROUP_MAX_BYTES;
      if (isFull) full.push(this.end());
    }
    return full;
  }

  /** Returns the remaining rows. */
  end(): readonly ColumnRow[] {
    const group = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return group;
  }
}
