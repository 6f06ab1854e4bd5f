import type { Warning } from '../../contract/grammar/envelope.js';
import type { Missing } from '../../contract/runs/run-files.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { Sort } from '../../contract/search/selection.js';
import type { RunRow } from '../../store/tables/runs.js';

/** A query, as formats describe it. */
export interface ExportQuery {
  /** Position among the queries; the first is 0. */
  readonly index: number;
  readonly id: string;
  /** Present if the format requires it. */
  readonly sequence?: string;
  /** Homologs that an alignment has beside the candidates. Default: none. */
  readonly homologs?: readonly ProteinHomolog[];
  /** Present if the search was propagated. Formats of our own have its hits beside the candidates. */
  readonly propagated?: PropagatedList;
}

type PropagatedHit = PresentedPropagation['hits'][number];

/** Hits of a walk. They take their places among the candidates by the joint E-value, or after them. */
export interface PropagatedList {
  readonly hits: readonly PropagatedHit[];
  readonly sort: Sort;
}

/** Description of the search. */
export interface ExportedSearch {
  readonly database: string;
  readonly targetCount: number;
  /** Targets that E-values count; absent for the searched ones. */
  readonly databaseSize?: number;
  readonly residueCount: number;
  /** Text of an E-value and a bit score that the release does not have, in tables of other tools. Default `count`. */
  readonly missing?: Missing;
  /** Whether tables of our own have the columns of propagation. Default: false. */
  readonly isPropagated?: boolean;
}

/** Text in the columns of other tools for values that the search does not have, by the setting. */
export const MISSING_WRITTEN: Readonly<Record<Missing, string>> = {
  count:
    'the E-values written are the number of searched proteins and the bit scores 0 ("missing" names another text)',
  nan: 'E-values and bit scores are written as nan',
  empty: 'E-values and bit scores are left empty',
};

/** Whether a format has the columns of BLAST or MMseqs2, which have no text of their own for an absent E-value. */
export function isTableOfAnother(format: string): format is 'm8' | 'blast' | 'mmseqs' {
  return format === 'm8' || format === 'blast' || format === 'mmseqs';
}

/** A row of our own formats: a candidate, a propagated hit, or a candidate that propagation reaches, too. */
export interface ColumnRow {
  readonly query: ExportQuery;
  readonly search: ExportedSearch;
  readonly candidate?: HomologyCandidate;
  readonly hit?: PropagatedHit;
  /** Conditional E-value of the alignment; absent where the search has none. */
  readonly conditionalEValue?: number;
}

/** A candidate with its query. */
export interface ExportRow extends ColumnRow {
  readonly candidate: HomologyCandidate;
}

/** Rows of formats that hold alignments: one for each alignment of each candidate. */
export function alignedRows(
  query: ExportQuery,
  search: ExportedSearch,
  candidates: readonly HomologyCandidate[],
): readonly ExportRow[] {
  return candidates.flatMap(splitAlignments).map((split) => ({ query, search, ...split }));
}

/**
 * Returns one candidate for each alignment of a candidate, with the coordinates, score, E-values and bit score of the
 * alignment. Other values are those of the pair. A candidate without a list of alignments is returned as it is.
 */
export function splitAlignments(
  candidate: HomologyCandidate,
): readonly Pick<ExportRow, 'candidate' | 'conditionalEValue'>[] {
  const { alignments = [], measurements, significance } = candidate;
  if (alignments.length === 0) return [{ candidate }];
  const { normalized_score: normalized, raw_score: best } = measurements.affine;
  // A share of a score of 0 has no value.
  if (best === 0) return [{ candidate }];
  // The quotient would change the last bit of the pair's own score.
  const scoreOf = (raw: number): number => (raw === best ? normalized : (normalized * raw) / best);
  return alignments.map((each) => {
    const { alignment, raw_score, conditional_expected_false_hits: conditionalEValue, ...judged } = each;
    return {
      candidate: {
        ...candidate,
        alignment,
        measurements: {
          ...measurements,
          affine: { raw_score, normalized_score: scoreOf(raw_score) },
        },
        significance: { ...significance, measurements: { ...significance.measurements, ...judged } },
      },
      ...(conditionalEValue !== undefined && { conditionalEValue }),
    };
  });
}

/** Writes candidates in one format. Bytes are returned in chunks, whose concatenation is the file. */
export interface ExportEncoder {
  /**
   * Adds candidates of one query in their order. A format that needs whole queries gets all of them at once, or none.
   * Errors  Refusal `export_not_possible` if the file would exceed a bound
   */
  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array | Promise<Uint8Array>;
  end(): Uint8Array;
  /** Records so far. */
  readonly recordCount: number;
  /** Targets so far that have a record. Default: the records, for a format with one record for each target. */
  readonly targetCount?: number;
  /** Candidates so far that the format's own cut-offs excluded. */
  readonly leftOutCount?: number;
  /** Warnings about the file so far. */
  readonly warnings?: readonly Warning[];
}

/** An encoder whose records are rows of queries. */
export abstract class RowEncoder implements ExportEncoder {
  #recordCount = 0;
  #targetCount = 0;

  get recordCount(): number {
    return this.#recordCount;
  }

  get targetCount(): number {
    return this.#targetCount;
  }

  abstract add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array;
  abstract end(): Uint8Array;

  /** Counts the written rows of one query. Their targets are candidates, and propagated hits that are none. */
  protected count(rows: readonly ColumnRow[]): void {
    this.#recordCount += rows.length;
    this.#targetCount += new Set(
      rows.map(({ candidate, hit }) => candidate?.target.id ?? hit?.target_id),
    ).size;
  }
}

/** Id of a query without one, in a run of a single query. */
export const LONE_QUERY_ID = 'query';

/** Whether each row of the run is a query with its candidates, instead of one candidate. */
export function isBatch({ endpoint }: Pick<RunRow, 'endpoint'>): boolean {
  return endpoint === 'homology.batch_search';
}
