import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { MsaComponent } from '../../contract/msa.js';
import { assert } from '../../errors.js';
import type { Release } from '../../release/release.js';
import type { SearchRequest } from '../../search/search-types.js';
import { a3mHeader, a3mRow } from '../../sequence/a3m.js';
import { cigarIdentity } from '../../sequence/cigar.js';
import { evidenceOfPresented, type Evidence } from '../evidence.js';
import { joinAlignments, type JoinedAlignment } from './joined.js';

/** Members of a receipt from which an alignment is built; services/search/receipts.ts writes them. */
export interface AlignedReceipt {
  readonly candidates: readonly ReceiptCandidate[];
  readonly parameters: Pick<SearchRequest, 'evidence' | 'guarantee' | 'limit' | 'significance'>;
  readonly query: { readonly sequence: string; readonly normalization_id: string };
  readonly release_id: string;
  readonly result_sha256: string;
  readonly target_space: { readonly id: string; readonly canonical_filter: unknown } | null;
}

interface ReceiptCandidate {
  readonly id: string;
  readonly affine_score: number;
  /** Empty if no pair of residues scores above zero; absent with its neighbours if no alignment was requested. */
  readonly cigar?: string;
  readonly query_start?: number;
  readonly query_end?: number;
  readonly target_start?: number;
  readonly target_end?: number;
}

/** One sequence aligned to the query. */
export type MsaRow = Pick<
  MsaComponent,
  'target_id' | 'query_coverage_ratio' | 'sequence_identity_ratio' | 'expected_false_hits' | 'header' | 'row'
>;

/** A candidate that may become a row. The row is computed only if it is selected. */
export interface PossibleRow {
  readonly evidence: Evidence;
  /** Absent for a component, and if the search cannot be repeated. */
  readonly normalizedScore?: number;
  write(): MsaRow;
}

/** Scores of a candidate that its receipt, which holds integers, lacks. */
export interface Judged {
  readonly logEValue?: number;
  readonly normalizedScore: number;
}

/** A candidate of a receipt as a possible row; undefined if no part of it is aligned. */
export function receiptRow(
  candidate: ReceiptCandidate & { readonly rank: number },
  judged: Judged | undefined,
  query: string,
  { targets }: Release,
): PossibleRow | undefined {
  const { cigar = '', query_start: queryStart = 0, query_end: queryEnd = 0 } = candidate;
  if (cigar === '') return undefined;
  const { target_start: targetStart = 0, target_end: targetEnd = 0 } = candidate;
  const targetIndex = targets.find(candidate.id);
  assert(targetIndex !== undefined, 'a release never loses a target that a receipt names');
  return possibleRow({
    id: candidate.id,
    query,
    cigar,
    place: { queryStart, queryEnd, targetStart, targetEnd, targetLength: targets.length(targetIndex) },
    target: () => targets.sequence(targetIndex),
    taxid: () => targets.attribute(targetIndex, 'taxid'),
    rank: candidate.rank,
    rawScore: candidate.affine_score,
    ...judged,
  });
}

/**
 * A candidate of a response as a possible row; undefined if no part of it is aligned. The row holds all alignments of
 * the candidate that fit into one row.
 */
export function candidateRow(candidate: HomologyCandidate, query: string): PossibleRow | undefined {
  const { target, alignment, measurements } = candidate;
  if (alignment === undefined || alignment.cigar === '') return undefined;
  const joined = joinAlignments(candidate, alignment);
  const { cigar, coveredQueryResidues, coveredTargetResidues, sequenceIdentityRatio, ...place } = joined;
  return possibleRow({
    ...evidenceOfPresented(candidate),
    id: target.id,
    query,
    cigar,
    place: { ...place, targetLength: target.sequence.length },
    joined: {
      coveredQueryResidues,
      coveredTargetResidues,
      sequenceIdentityRatio,
    },
    target: () => target.sequence,
    taxid: () => target.attributes['taxid'],
    normalizedScore: measurements.affine.normalized_score,
  });
}

interface AlignedCandidate extends Pick<Evidence, 'rank' | 'rawScore' | 'logEValue'> {
  readonly id: string;
  readonly query: string;
  readonly cigar: string;
  /** Zero-based half-open. */
  readonly place: {
    readonly queryStart: number;
    readonly queryEnd: number;
    readonly targetStart: number;
    readonly targetEnd: number;
    readonly targetLength: number;
  };
  /** Values of the alignments without what is between them, if the row has several. */
  readonly joined?: Pick<
    JoinedAlignment,
    'coveredQueryResidues' | 'coveredTargetResidues' | 'sequenceIdentityRatio'
  >;
  readonly target: () => string;
  readonly taxid: () => unknown;
  readonly normalizedScore?: number;
}

function possibleRow(aligned: AlignedCandidate): PossibleRow {
  const { id, query, cigar, place, rank, rawScore, logEValue, normalizedScore } = aligned;
  const {
    coveredQueryResidues = place.queryEnd - place.queryStart,
    coveredTargetResidues = place.targetEnd - place.targetStart,
    sequenceIdentityRatio = cigarIdentity(cigar),
  } = aligned.joined ?? {};
  const alignment = {
    queryCoverageRatio: coveredQueryResidues / query.length,
    targetCoverageRatio: coveredTargetResidues / place.targetLength,
    sequenceIdentityRatio,
  };
  const eValue = logEValue === undefined ? undefined : Math.exp(logEValue);
  return {
    evidence: {
      rank,
      rawScore,
      alignment,
      ...(logEValue !== undefined && { logEValue }),
    },
    ...(normalizedScore !== undefined && { normalizedScore }),
    write: () => {
      const taxid = aligned.taxid();
      const header = a3mHeader({
        id,
        score: rawScore,
        sequenceIdentityRatio: alignment.sequenceIdentityRatio,
        queryCoverageRatio: alignment.queryCoverageRatio,
        ...(eValue !== undefined && { eValue }),
        ...(taxid !== undefined && { taxid: String(taxid) }),
        ...place,
      });
      return {
        target_id: id,
        query_coverage_ratio: alignment.queryCoverageRatio,
        sequence_identity_ratio: alignment.sequenceIdentityRatio,
        ...(eValue !== undefined && { expected_false_hits: eValue }),
        header,
        row: a3mRow({ cigar, target: aligned.target(), queryLength: query.length, ...place }),
      };
    },
  };
}

/** A component as a row among others. @param rank its index among the named components */
export function componentRow(content: MsaComponent, rank: number): PossibleRow {
  const { query_coverage_ratio, sequence_identity_ratio, expected_false_hits: eValue } = content;
  return {
    evidence: {
      rank,
      rawScore: 0,
      alignment: {
        queryCoverageRatio: query_coverage_ratio,
        targetCoverageRatio: 1,
        sequenceIdentityRatio: sequence_identity_ratio,
      },
      ...(eValue !== undefined && { logEValue: Math.log(eValue) }),
    },
    write: () => content,
  };
}
