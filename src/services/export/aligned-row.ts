import type { PairwiseAlignment } from '../../contract/search/candidate-set.js';
import { coveredResidues } from '../../sequence/covered.js';
import { alignmentLines, type AlignmentLines } from '../../sequence/alignment-lines.js';
import { PairRow } from './pair-row.js';
import type { ExportRow } from './rows.js';

/**
 * A candidate with its alignment, in the numbers of the usual file formats.
 * Unit    positions from 1, ends inclusive
 */
export class AlignedRow extends PairRow {
  readonly alignment: PairwiseAlignment;
  #lines: AlignmentLines | undefined;

  private constructor(row: ExportRow, alignment: PairwiseAlignment) {
    super(row);
    this.alignment = alignment;
  }

  /** undefined if no part of the pair is aligned. */
  static override of(row: ExportRow): AlignedRow | undefined {
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
   * Share of the query that all alignments of this pair cover together.
   * Range   0..1
   */
  get pairQueryCoverage(): number {
    const { alignments = [] } = this.candidate;
    if (alignments.length < 2) return this.alignment.query_coverage_ratio;
    const ranges = alignments.map(({ alignment }) => [alignment.query_start, alignment.query_end] as const);
    return coveredResidues(ranges) / this.alignment.query_length;
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
}
