import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { assert } from '../../errors.js';
import type { ExportQuery, ExportRow, ExportedSearch } from './rows.js';

/** A candidate in the values of the usual file formats that need no alignment path. */
export class PairRow implements ExportRow {
  readonly query: ExportQuery;
  readonly search: ExportedSearch;
  readonly candidate: HomologyCandidate;

  protected constructor({ query, search, candidate }: ExportRow) {
    this.query = query;
    this.search = search;
    this.candidate = candidate;
  }

  /**
   * undefined if no part of the pair is aligned. Where no alignment was computed, a score above 0 shows that there is
   * one, with few exceptions: paths have other weights than scores.
   */
  static of(row: ExportRow): PairRow | undefined {
    const { measurements, alignment } = row.candidate;
    const isAligned = measurements.affine.raw_score > 0 && alignment?.cigar !== '';
    return isAligned ? new PairRow(row) : undefined;
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
