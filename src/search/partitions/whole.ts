import { Fault, Refusal } from '../../errors.js';
import { mapInTurns } from '../../turns.js';
import { prefilterCountsOf } from '../prefilter/rescore-candidates.js';
import { tokensSha256 } from '../seal.js';
import type { EncodedQuery } from '../search-types.js';
import { eligibleIn, type PartialResult, type PartialResultSettings, type TargetRange } from './scan.js';

/** How many targets a survey may name, from the fewest on. */
export interface PartialResultCounts {
  readonly least: number;
  readonly most: number;
}

/**
 * How many targets each survey of a part has. The exhaustive policy has its nearest and no others; the sampled one its
 * nearest and, of those that stand out, as many as there are.
 */
export function partialResultCounts(
  { targetSpace, limit, sampled }: PartialResultSettings,
  range: TargetRange,
): PartialResultCounts {
  const eligibleCount = eligibleIn(targetSpace, range)?.length ?? range.to - range.from;
  if (sampled === undefined) {
    const count = Math.min(limit, eligibleCount);
    return { least: count, most: count };
  }
  const { nearestCount, localCount } = prefilterCountsOf(sampled);
  return {
    least: Math.min(nearestCount, eligibleCount),
    most: Math.min(nearestCount + localCount, eligibleCount),
  };
}

/**
 * Refuses what somebody else has sent as the surveys of a part where it cannot be that: other queries, targets that are
 * not of the part or not eligible, more of them than there are, or fewer. Whether sums are right, nobody can see.
 * Errors  Fault; Refusal `encoder_changed` where a query was encoded otherwise
 */
export async function requireWhole(
  partialResults: readonly PartialResult[],
  queries: readonly EncodedQuery[],
  settings: PartialResultSettings,
  range: TargetRange,
  dimension: number,
): Promise<void> {
  if (partialResults.length !== queries.length) {
    throw new Fault(`There are ${partialResults.length} surveys of ${queries.length} queries.`);
  }
  const counts = partialResultCounts(settings, range);
  const eligible = eligibleIn(settings.targetSpace, range);
  await mapInTurns(partialResults, (partialResult, index) => {
    requireTokens(partialResult, queries[index], dimension);
    requireCounts(partialResult, settings, counts);
    requireEligible(partialResult.targets, range, eligible);
  });
}

/** Errors  Refusal `encoder_changed` */
export function requireTokens(
  { queryTokensSha256 }: PartialResult,
  { tokens }: EncodedQuery,
  dimension: number,
): void {
  if (queryTokensSha256 === tokensSha256(tokens, dimension)) return;
  throw new Refusal(
    'encoder_changed',
    'Parts of this search have encoded a query differently: nodes of one kind, with one encoder device, are needed.',
  );
}

function requireCounts(
  { targets, queryExcess }: PartialResult,
  { sampled }: PartialResultSettings,
  { least, most }: PartialResultCounts,
): void {
  if ((queryExcess === undefined) !== (sampled === undefined)) {
    throw new Fault('A survey was made by another policy.');
  }
  if (targets.length >= least && targets.length <= most) return;
  throw new Fault(`A survey has ${targets.length} targets; ${least} to ${most} were asked for.`);
}

/** Both lists ascend, so one look at each is enough. @param eligible  undefined where all of the range are */
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
      throw new Fault(`A survey names target ${target}: not of its part, not eligible, or not in order.`);
    }
    next = target + 1;
  }
}
