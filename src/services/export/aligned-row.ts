import type { HomologyCandidate, PairwiseAlignment } from '../../contract/search/candidate-set.js';
import { assert } from '../../errors.js';
import { alignmentLines, type AlignmentLines } from '../../sequence/alignment-lines.js';
import type { ExportQuery, ExportRow, ExportedSearch } from './rows.js';

/**
 * A candidate with its alignment, in the numbers of the usual file formats.
 * Unit    positions from 1, ends inclusive
 */
export class AlignedRow implements ExportRow {
  readonly query: ExportQuery;
  readonly search: ExportedSearch;
  readonly candidate: HomologyCandidate;
  readonly alignment: PairwiseAlignment;
  #lines: AlignmentLines | undefined;

  private constructor({ query, search, candidate }: ExportRow, alignment: PairwiseAlignment) {
    this.query = query;
    this.search = search;
    this.candidate = candidate;
    this.alignment = alignment;
  }

  /** undefined if no part of the pair is aligned. */
  static of(row: ExportRow): AlignedRow | undefined {
    const { alignment } = row.candidate;
    return alignment === undefined || alignment.cigar === '' ? undefined : new AlignedRow(row, alignment);
  }

  /** Columns, gaps included. */
  get columnCount(): number {
    return this.alignment.aligned_residue_count + this.alignment.gap_residue_count;
  }

  /** Aligned pairs of two residues that are not identical. */
  get mismatchCount(): number {
    return this.alignment.aligned_residue_count - this.alignment.identical_residue_count;
  }

  get identityPercent(): number {
    return 100 * this.alignment.sequence_identity_ratio;
  }

  /**
   * E-value. Without a calibration, the number of targets that it counts among, which is an upper bound.
   * Unit    targets
   */
  get eValue(): number {
    const { targetCount, databaseSize = targetCount } = this.search;
    return this.candidate.significance.measurements.expected_false_hits ?? databaseSize;
  }

  /** Bit score. Without a calibration 0, which carries no information. */
  get bitScore(): number {
    return this.candidate.significance.measurements.bit_score ?? 0;
  }

  /**
   * Share of the query that all alignments of this pair cover together.
   * Range   0..1
   */
  get pairQueryCoverage(): number {
    const { alignments = [] } = this.candidate;
    if (alignments.length < 2) return this.alignment.query_coverage_ratio;
    const ranges = alignments
      .map(({ alignment }) => [alignment.query_start, alignment.query_end] as const)
      .sort(([left], [right]) => left - right);
    let covered = 0;
    let reached = 0;
    for (const [start, end] of ranges) {
      covered += Math.max(0, end - Math.max(start, reached));
      reached = Math.max(reached, end);
    }
    return covered / this.alignment.query_length;
  }

  /** Probability of homology; undefined where the search did not ask for it. */
  get probability(): number | undefined {
    return this.candidate.significance.measurements.homology_probability;
  }

  /** Text in place of E-value and bit score, where the release has none and the search asks for such a text. */
  get missingText(): string | undefined {
    const { missing = 'count' } = this.search;
    if (missing === 'count' || this.candidate.significance.measurements.expected_false_hits !== undefined)
      return undefined;
    return missing === 'nan' ? 'nan' : '';
  }

  get querySequence(): string {
    const { sequence } = this.query;
    assert(sequence !== undefined, 'a format whose fields need the query requests it');
    return sequence;
  }

  get lines(): AlignmentLines {
    const { cigar, query_start: queryStart, target_start: targetStart } = this.alignment;
    const place = { cigar, queryStart, targetStart };
    this.#lines ??= alignmentLines(this.querySequence, this.candidate.target.sequence, place);
    return this.#lines;
  }

  /** Columns whose residues are equal or often substitute each other. */
  get positiveCount(): number {
    return this.lines.middle.replaceAll(' ', '').length;
  }

  /** An attribute of the target as text; undefined if it has none. */
  attribute(name: string): string | undefined {
    const value = this.candidate.target.attributes[name];
    return value === undefined || value === '' ? undefined : String(value);
  }

  /** Text of a header after the id, in UniProt's form. */
  get targetTitle(): string {
    const parts = [
      ['', this.attribute('name') ?? this.attribute('description')],
      ['OS=', this.attribute('organism')],
      ['OX=', this.attribute('taxid')],
      ['GN=', this.attribute('gene')],
    ];
    return parts.flatMap(([key, value]) => (value === undefined ? [] : [`${key}${value}`])).join(' ');
  }
}
