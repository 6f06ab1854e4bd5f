import { Fault, Refusal } from '../../errors.js';
import { TOKEN_MAX_SQUARED_NORM } from '../../limits.js';
import { mapInTurns } from '../../turns.js';
import { tokensSha256 } from '../seal.js';
import type { EncodedQuery, PartialResultCounts } from '../search-types.js';
import { eligibleIn, type PartialResult, type PartialResultSettings, type TargetRange } from './scan.js';

/** Bounds on the targets of each partial result of a partition. */
export function partialResultCounts(
  { targetSpace, partial }: PartialResultSettings,
  range: TargetRange,
): PartialResultCounts {
  return partial.countsAmong(eligibleIn(targetSpace, range)?.length ?? range.to - range.from);
}

/**
 * Checks partial results that another process sent: queries, number and eligibility of the targets, their order, and
 * the range of their sums. Wrong sums within that range cannot be detected.
 * @param lengthOf  residues of a target
 * Errors  Fault; Refusal `encoder_changed` if a query was encoded differently
 */
export async function requireWhole(
  partialResults: readonly PartialResult[],
  queries: readonly EncodedQuery[],
  settings: PartialResultSettings,
  range: TargetRange,
  dimension: number,
  lengthOf: (target: number) => number,
): Promise<void> {
  if (partialResults.length !== queries.length) {
    throw new Fault(`There are ${partialResults.length} partial results of ${queries.length} queries.`);
  }
  const counts = partialResultCounts(settings, range);
  const eligible = eligibleIn(settings.targetSpace, range);
  await mapInTurns(partialResults, (partialResult, index) => {
    requireTokens(partialResult, queries[index], dimension);
    requireCounts(partialResult, settings, counts);
    requireEligible(partialResult.targets, range, eligible);
    requireSums(partialResult, queries[index], lengthOf);
  });
}

/** Errors  Refusal `encoder_changed` if the partial result is of other tokens */
export function requireTokens(
  { queryTokensSha256 }: PartialResult,
  { tokens }: EncodedQuery,
  dimension: number,
): void {
  if (queryTokensSha256 === tokensSha256(tokens, dimension)) return;
  throw new Refusal(
    'encoder_changed',
    'Partitions of this search encoded a query differently. Use nodes of one kind, with one encoder device.',
  );
}

function requireCounts(
  { targets, queryExcess }: PartialResult,
  { partial }: PartialResultSettings,
  { least, most }: PartialResultCounts,
): void {
  if ((queryExcess === undefined) !== (partial.columns === 3)) {
    throw new Fault('A partial result was made by another policy.');
  }
  if (targets.length >= least && targets.length <= most) return;
  throw new Fault(`A partial result has ${targets.length} targets; ${least} to ${most} were expected.`);
}

/** A sum has one dot product for each token, and none exceeds the largest squared norm. */
function requireSums(
  { targets, queryToTarget, targetToQuery, queryExcess }: PartialResult,
  { tokens }: EncodedQuery,
  lengthOf: (target: number) => number,
): void {
  const most = tokens.length * TOKEN_MAX_SQUARED_NORM;
  for (const [place, target] of targets.entries()) {
    const isPossible =
      Math.abs(queryToTarget[place]) <= most &&
      Math.abs(targetToQuery[place]) <= lengthOf(target) * TOKEN_MAX_SQUARED_NORM &&
      (queryExcess?.[place] ?? 0) <= 2 * most;
    if (!isPossible) throw new Fault(`A partial result has a sum for target ${target} that no tokens give.`);
  }
}

/** Walks both lists once, as both ascend. @param eligible  undefined if the whole range is eligible */
function requireEligible(
  targets: Uint32Array,
  { from, to }: TargetRange,
  eligible: Uint32Array | undefined,
): void {
  let next = from;
  let place = 0;
  for (const target of targets) {
    while (eligible !== undefined && eligible[place] < target) place += 1;
    if (target < next || target >= to || (eligible !== undefined && eligible[place] !== target)) {
      throw new Fault(
        `A partial result names target ${target}: outside its partition, not eligible, or not in order.`,
      );
    }
    next = target + 1;
  }
}
