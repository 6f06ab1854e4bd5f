import type { KernelOptions, SweptSums } from '../kernels/kernels.js';
import type { RescoreCandidates } from '../recall/policy-card.js';
import { ascending, bestOf, excessFloor, prefilterCountsOf } from '../search/prefiltered.js';
import { COARSE_ROWS, FINE_ROWS, sampleTokens } from '../search/selection/sampling.js';
import type { EncodedQuery, RescoreCounts, SearchEngine } from '../search/search-types.js';
import type { IsRescored } from './rescored-in-steps.js';

/** Ranks of a target in the two orders of a sweep, from 1; Infinity if it is not among the measured ranks. */
interface OrderRanks {
  /** By bidirectional MaxSim similarity. */
  readonly byNearness: number;
  /** By excess, the measure of local matches. */
  readonly byExcess: number;
}

type Orders = Awaited<ReturnType<typeof bestOf>>;

/**
 * Ranks all targets in both orders of the first sweep of the sampled policy.
 * Shape   each order [targets of the release], without targets that have no excess in the second
 * Unit    target indices, best first
 * Errors  none
 * @param coarse  sums of all targets with the rows of the first sweep
 */
export function ordersOfSweep(
  { tokens }: EncodedQuery,
  coarse: SweptSums,
  { release }: SearchEngine,
): Promise<Orders> {
  const { count } = release.targets;
  const all = { nearestCount: count, localCount: count };
  return bestOf(coarse, undefined, Math.min(tokens.length, COARSE_ROWS), all, release);
}

/**
 * Orders all targets except for one by the better of their ranks in both orders.
 * Shape   [targets of the release − 1]
 * Unit    target indices, best first
 * Errors  none
 */
export function mergedOrder({ nearest, local }: Orders, self: number): Uint32Array {
  // Targets without excess are only in the first order.
  const merged = nearest.flatMap((target, at) => (at < local.length ? [target, local[at]] : [target]));
  const others = new Set(merged);
  others.delete(self);
  return Uint32Array.from(others);
}

/**
 * Ranks targets in both sweeps of the sampled policy, without the query itself.
 * Shape   a function of the target, then of the counts of a policy
 * Errors  Fault of the kernels; the signal's reason
 * Cost    one sweep of the most targets that any policy leaves
 * @param orders      of the first sweep
 * @param candidates  counts of the policies that are asked about
 */
export async function rescoredByRank(
  { tokens }: EncodedQuery,
  orders: Orders,
  self: number,
  candidates: readonly RescoreCandidates[],
  { release, backend, store }: SearchEngine,
  options: KernelOptions,
): Promise<(target: number) => IsRescored> {
  const counts = candidates.map(rescoreCountsOf);
  const largest = {
    nearestCount: Math.max(...counts.map(({ nearestCount }) => nearestCount)),
    localCount: Math.max(...counts.map(({ localCount }) => localCount)),
  };
  const most = withSelf(prefilterCountsOf(largest));
  const left = {
    nearest: orders.nearest.slice(0, most.nearestCount),
    local: orders.local.slice(0, most.localCount),
  };
  const hits = ascending(left);
  const sampled = sampleTokens(tokens, FINE_ROWS);
  const [swept] = await backend.sweep(store, [sampled], hits, excessFloor(release), options);
  const best = await bestOf(swept, hits, sampled.length, withSelf(largest), release);
  const [coarseRank, fineRank] = [rankIn(left, self), rankIn(best, self)];
  const isWithin = ({ byNearness, byExcess }: OrderRanks, most: RescoreCounts): boolean =>
    byNearness <= most.nearestCount || byExcess <= most.localCount;
  // A larger prefilter can only worsen the ranks, so that the measured ones are no better than the policy's own.
  return (target) => (candidate) => {
    const most = rescoreCountsOf(candidate);
    return isWithin(coarseRank(target), prefilterCountsOf(most)) && isWithin(fineRank(target), most);
  };
}

function rescoreCountsOf({ nearest_count, striking_count }: RescoreCandidates): RescoreCounts {
  return { nearestCount: nearest_count, localCount: striking_count };
}

function withSelf({ nearestCount, localCount }: RescoreCounts): RescoreCounts {
  return { nearestCount: nearestCount + 1, localCount: localCount + 1 };
}

function rankIn({ nearest, local }: Orders, self: number): (target: number) => OrderRanks {
  const ranksIn = (list: readonly number[]): Map<number, number> =>
    new Map(list.filter((target) => target !== self).map((target, above) => [target, above + 1]));
  const [nearness, excess] = [ranksIn(nearest), ranksIn(local)];
  return (target) => ({
    byNearness: nearness.get(target) ?? Infinity,
    byExcess: excess.get(target) ?? Infinity,
  });
}
