import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import { a3mHeader, a3mRow } from '../../sequence/a3m.js';
import type { PossibleRow } from './rows.js';

/** Sequences of the proteins that have a row already, by id. */
export type ProteinsWithRows = ReadonlyMap<string, string>;

/**
 * Returns the homologs of a query as possible rows beside those of a search. A protein that has a row already is left
 * out. An id of the homolog source can name another protein of the database, so that the residues decide.
 * @param lastRank  greatest rank of the search's rows, which come first at equal E-values
 */
export function homologRows(
  homologs: readonly ProteinHomolog[],
  query: string,
  proteins: ProteinsWithRows,
  lastRank: number,
): readonly PossibleRow[] {
  return homologs
    .filter((homolog) => !hasRow(homolog, proteins))
    .map((homolog, index) => homologRow(homolog, query, lastRank + 1 + index));
}

/** Whether the protein of a homolog has a row of the search. */
export function hasRow({ id, residues }: ProteinHomolog, proteins: ProteinsWithRows): boolean {
  return proteins.get(id)?.includes(residues) ?? false;
}

/**
 * Returns a homolog as a possible row. Its score is unknown here, because only the search that found it has it.
 * @param rank greater than those of all candidates, so that candidates come first at equal E-values
 */
export function homologRow(homolog: ProteinHomolog, query: string, rank: number): PossibleRow {
  const { id, cigar, residues, expected_false_hits: eValue } = homolog;
  const { query_coverage_ratio, sequence_identity_ratio } = homolog;
  const place = {
    queryStart: homolog.query_start,
    queryEnd: homolog.query_end,
    targetStart: homolog.target_start,
    targetEnd: homolog.target_end,
    targetLength: homolog.target_length,
  };
  return {
    evidence: {
      rank,
      rawScore: 0,
      logEValue: Math.log(eValue),
      alignment: {
        queryCoverageRatio: query_coverage_ratio,
        targetCoverageRatio: residues.length / homolog.target_length,
        sequenceIdentityRatio: sequence_identity_ratio,
      },
    },
    write: () => ({
      target_id: id,
      query_coverage_ratio,
      sequence_identity_ratio,
      expected_false_hits: eValue,
      header: a3mHeader({
        id,
        eValue,
        sequenceIdentityRatio: sequence_identity_ratio,
        queryCoverageRatio: query_coverage_ratio,
        ...place,
      }),
      row: a3mRow({
        cigar,
        queryStart: place.queryStart,
        targetStart: 0,
        queryLength: query.length,
        target: residues,
      }),
    }),
  };
}
