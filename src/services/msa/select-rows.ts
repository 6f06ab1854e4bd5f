import type { Warning } from '../../contract/grammar/envelope.js';
import type { Msa, MsaChoice, MsaRequest } from '../../contract/msa.js';
import type { CutOffs, Sort } from '../../contract/search/selection.js';
import { Refusal } from '../../errors.js';
import {
  MSA_DEFAULT_DEPTH,
  MSA_DEFAULT_EXPECTED_FALSE_HITS,
  MSA_DEFAULT_NORMALIZED_SCORE,
  MSA_DEFAULT_PAIRWISE_IDENTITY,
  MSA_DEFAULT_QUERY_COVERAGE,
  MSA_MAX_BYTES,
} from '../../limits.js';
import { Slice } from '../../turns.js';
import { selectByEvidence } from '../select.js';
import { diverseRows } from './diverse.js';
import type { MsaRow, PossibleRow } from './rows.js';

/** Row selection of a request. */
export type MsaOptions = Omit<MsaRequest, 'receipt_id' | 'component_ids'>;
/** Row selection with all defaults resolved. */
export type MsaParameters = Msa['parameters'];

export interface SelectedRows {
  readonly rows: readonly MsaRow[];
  readonly filteredCount: number;
  readonly duplicateCount: number;
  readonly redundantCount: number;
  readonly beyondDepthCount: number;
}

const IDENTITY_STRATA = 10;

/** Row selection for a caller that passes cut-offs only. */
export function askRows(cutOffs: CutOffs, sort: Sort, choice: Partial<MsaChoice> = {}): MsaOptions {
  return {
    maximum_depth: MSA_DEFAULT_DEPTH,
    minimum_query_coverage_ratio: MSA_DEFAULT_QUERY_COVERAGE,
    minimum_sequence_identity_ratio: 0,
    maximum_sequence_identity_ratio: 1,
    selection: 'identity_strata',
    ...choice,
    ...cutOffs,
    sort,
  };
}

/**
 * Resolves defaults: rows are selected by E-value if there are any, otherwise by score.
 * Errors  Refusal `significance_unavailable` if E-values are requested and there are none
 */
export function decideParameters(rows: readonly PossibleRow[], options: MsaOptions): MsaParameters {
  const { maximum_expected_false_hits: maximum, minimum_normalized_score: score } = options;
  const hasEValues = rows.some(({ evidence }) => evidence.logEValue !== undefined);
  if (maximum !== undefined && !hasEValues && rows.length > 0) throw withoutEValues();
  if (maximum !== undefined || rows.length === 0) return options;
  return hasEValues
    ? { ...options, maximum_expected_false_hits: MSA_DEFAULT_EXPECTED_FALSE_HITS }
    : { ...options, minimum_normalized_score: score ?? MSA_DEFAULT_NORMALIZED_SCORE };
}

/** The rows within the cut-offs of the parameters, in the requested order. */
export function passingRows(
  candidates: readonly PossibleRow[],
  parameters: MsaParameters,
): readonly PossibleRow[] {
  const { maximum_sequence_identity_ratio: maximumIdentity, minimum_normalized_score: leastScore = 0 } =
    parameters;
  const { sort = 'rank' } = parameters;
  const { selected } = selectByEvidence(candidates, ({ evidence }) => evidence, {
    cutOffs: parameters,
    sort,
  });
  return selected.filter(
    ({ evidence, normalizedScore = Infinity }) =>
      normalizedScore >= leastScore && (evidence.alignment?.sequenceIdentityRatio ?? 0) <= maximumIdentity,
  );
}

/**
 * Selects rows by the parameters, in the requested order.
 * Errors  Refusal `msa_too_large`; the signal's reason
 */
export async function selectRows(
  candidates: readonly PossibleRow[],
  query: string,
  parameters: MsaParameters,
  signal: AbortSignal,
): Promise<SelectedRows> {
  const passing = passingRows(candidates, parameters);
  const slice = new Slice();
  const pause = async (): Promise<void> => {
    await slice.pause();
    signal.throwIfAborted();
  };
  const seen = new Set([query]);
  const distinct: MsaRow[] = [];
  let characters = query.length;
  for (const candidate of passing) {
    if (slice.isOver) await pause();
    const row = candidate.write();
    if (seen.has(row.row)) continue;
    seen.add(row.row);
    distinct.push(row);
    characters += row.header.length + row.row.length;
    if (characters > MSA_MAX_BYTES) throw tooLarge();
  }
  const diversity = {
    maximumIdentity: parameters.maximum_pairwise_identity_ratio ?? MSA_DEFAULT_PAIRWISE_IDENTITY,
    diverseRowCount: parameters.diverse_row_count ?? 0,
  };
  const paced = {
    get isOver() {
      return slice.isOver;
    },
    pause,
  };
  const texts = distinct.map(({ row }) => row);
  const diverse = (await diverseRows(query, texts, diversity, paced)).map((at) => distinct[at]);
  const rows = withinDepth(diverse, parameters);
  return {
    rows,
    filteredCount: candidates.length - passing.length,
    duplicateCount: passing.length - distinct.length,
    redundantCount: distinct.length - diverse.length,
    beyondDepthCount: diverse.length - rows.length,
  };
}

/** Warns of the criterion that replaces E-values. */
export function warningsOf({
  minimum_normalized_score: score,
  minimum_query_coverage_ratio: coverage,
  maximum_expected_false_hits: maximum,
}: MsaParameters): readonly Warning[] {
  if (score === undefined || maximum !== undefined) return [];
  return [
    {
      code: 'msa_without_e_values',
      message:
        `These candidates have no E-values: rows are those with a normalised score of ${score} and a coverage of ` +
        `${coverage} or more, which unrelated proteins can have, too. Either the release is not calibrated, or its ` +
        'calibration does not cover the length or the composition of the query.',
      details: { minimum_normalized_score: score, minimum_query_coverage_ratio: coverage },
    },
  ];
}

/** Limits the depth, of which the query is one row. */
function withinDepth(
  rows: readonly MsaRow[],
  { maximum_depth, selection }: MsaParameters,
): readonly MsaRow[] {
  const room = maximum_depth - 1;
  if (rows.length <= room || selection === 'rank') return rows.slice(0, room);
  const strata: MsaRow[][] = Array.from({ length: IDENTITY_STRATA }, () => []);
  for (const row of rows) strata[stratumOf(row)].push(row);
  const diverse = new Set<MsaRow>();
  for (let turn = 0; diverse.size < room; turn += 1) {
    for (const stratum of strata.toReversed()) {
      if (turn < stratum.length && diverse.size < room) diverse.add(stratum[turn]);
    }
  }
  return rows.filter((row) => diverse.has(row));
}

function stratumOf({ sequence_identity_ratio: identity }: MsaRow): number {
  return Math.min(IDENTITY_STRATA - 1, Math.floor(identity * IDENTITY_STRATA));
}

function withoutEValues(): Refusal {
  return new Refusal(
    'significance_unavailable',
    'No calibration gives any of these candidates an E-value. Ask without maximum_expected_false_hits, or calibrate ' +
      'the release first.',
    { param: 'maximum_expected_false_hits' },
  );
}

function tooLarge(): Refusal {
  return new Refusal(
    'msa_too_large',
    `The rows take more than ${MSA_MAX_BYTES} bytes. Ask for more coverage of the query, or search with a lower ` +
      'limit.',
    { maximum_bytes: MSA_MAX_BYTES },
  );
}
