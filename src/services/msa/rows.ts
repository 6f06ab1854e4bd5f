import type { MsaComponent, MsaRequest } from '../../contract/msa.js';
import { assert, Refusal } from '../../errors.js';
import { MSA_MAX_BYTES } from '../../limits.js';
import type { Release } from '../../release/release.js';
import type { SearchRequest } from '../../search/search-types.js';
import { a3mHeader, a3mRow, cigarIdentity } from '../../sequence/a3m.js';

/** The members of a receipt that an alignment is made of; services/search/receipts.ts writes them. */
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
  /** Empty where no pair of residues scores above zero; absent, with the rest, where no alignment was asked for. */
  readonly cigar?: string;
  readonly query_start?: number;
  readonly query_end?: number;
  readonly target_start?: number;
  readonly target_end?: number;
}

/** One sequence over the query. */
export type MsaRow = Pick<
  MsaComponent,
  'target_id' | 'query_coverage_ratio' | 'sequence_identity_ratio' | 'expected_false_hits' | 'header' | 'row'
>;

/** A candidate that could become a row; the row is written only where it is wanted. */
export type PossibleRow = Omit<MsaRow, 'target_id' | 'header' | 'row'> & { write(): MsaRow };

/** What the candidate would be as a row; undefined where nothing of it is aligned. */
export function possibleRow(
  candidate: ReceiptCandidate,
  expectedFalseHits: number | undefined,
  query: string,
  { targets }: Release,
): PossibleRow | undefined {
  const { cigar = '', query_start: start = 0, query_end: end = 0 } = candidate;
  if (cigar === '') return undefined;
  const measured = {
    query_coverage_ratio: (end - start) / query.length,
    sequence_identity_ratio: cigarIdentity(cigar),
    ...(expectedFalseHits === undefined ? {} : { expected_false_hits: expectedFalseHits }),
  };
  return { ...measured, write: () => ({ target_id: candidate.id, ...measured, ...written() }) };

  function written(): Pick<MsaRow, 'header' | 'row'> {
    const targetIndex = targets.find(candidate.id);
    assert(targetIndex !== undefined, 'a release never loses a target that a receipt names');
    const target = targets.sequence(targetIndex);
    const { target_start: targetStart = 0, target_end: targetEnd = 0 } = candidate;
    const place = { queryStart: start, targetStart, queryLength: query.length };
    const header = a3mHeader({
      id: candidate.id,
      score: candidate.affine_score,
      sequenceIdentityRatio: measured.sequence_identity_ratio,
      ...(expectedFalseHits === undefined ? {} : { expectedFalseHits }),
      queryEnd: end,
      targetEnd,
      targetLength: target.length,
      ...place,
    });
    return { header, row: a3mRow({ cigar, target, ...place }) };
  }
}

interface SelectedRows {
  readonly rows: readonly MsaRow[];
  readonly filteredCount: number;
  readonly duplicateCount: number;
  readonly beyondDepthCount: number;
}

/** Rows that are written before other requests get a turn. */
const ROWS_PER_TURN = 256;
const IDENTITY_STRATA = 10;

type Parameters = Omit<MsaRequest, 'receipt_id' | 'component_ids'>;

/**
 * Rows that the parameters keep, in the order of the candidates.
 * Errors  Refusal `msa_too_large`; the signal's reason
 */
export async function selectRows(
  candidates: readonly PossibleRow[],
  query: string,
  parameters: Parameters,
  signal: AbortSignal,
): Promise<SelectedRows> {
  const wanted = candidates.filter((candidate) => isWanted(candidate, parameters));
  const seen = new Set([query]);
  const rows: MsaRow[] = [];
  let characters = query.length;
  for (const [index, candidate] of wanted.entries()) {
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn(signal);
    const row = candidate.write();
    if (seen.has(row.row)) continue;
    seen.add(row.row);
    rows.push(row);
    characters += row.header.length + row.row.length;
    if (characters <= MSA_MAX_BYTES) continue;
    throw new Refusal(
      'msa_too_large',
      `The rows take more than ${MSA_MAX_BYTES} bytes. Ask for more coverage of the query, or search with a lower ` +
        'limit.',
      { maximum_bytes: MSA_MAX_BYTES },
    );
  }
  const selected = withinDepth(rows, parameters);
  return {
    rows: selected,
    filteredCount: candidates.length - wanted.length,
    duplicateCount: wanted.length - rows.length,
    beyondDepthCount: rows.length - selected.length,
  };
}

function isWanted(row: PossibleRow, parameters: Parameters): boolean {
  const { maximum_expected_false_hits: maximum } = parameters;
  return (
    row.query_coverage_ratio >= parameters.minimum_query_coverage_ratio &&
    row.sequence_identity_ratio >= parameters.minimum_sequence_identity_ratio &&
    row.sequence_identity_ratio <= parameters.maximum_sequence_identity_ratio &&
    (maximum === undefined || (row.expected_false_hits ?? Infinity) <= maximum)
  );
}

async function nextTurn(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/** The query takes one row of the depth. */
function withinDepth(rows: readonly MsaRow[], { maximum_depth, selection }: Parameters): readonly MsaRow[] {
  const room = maximum_depth - 1;
  if (rows.length <= room || selection === 'rank') return rows.slice(0, room);
  const strata: MsaRow[][] = Array.from({ length: IDENTITY_STRATA }, () => []);
  for (const row of rows) strata[stratumOf(row)].push(row);
  const kept = new Set<MsaRow>();
  for (let turn = 0; kept.size < room; turn += 1) {
    for (const stratum of strata.toReversed()) {
      if (turn < stratum.length && kept.size < room) kept.add(stratum[turn]);
    }
  }
  return rows.filter((row) => kept.has(row));
}

function stratumOf({ sequence_identity_ratio: identity }: MsaRow): number {
  return Math.min(IDENTITY_STRATA - 1, Math.floor(identity * IDENTITY_STRATA));
}
