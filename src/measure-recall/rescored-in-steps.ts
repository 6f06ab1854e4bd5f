import { assert } from '../errors.js';
import type { CodebookHits, KernelOptions, MaxSimSums, SweptSums } from '../kernels/kernels.js';
import type { RescoreCandidates } from '../recall/policy-card.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { uncontrolledJudge } from '../search/codebook.js';
import { inOrderOfEvidence, measureInSteps, type MeasureTargets } from '../search/in-steps.js';
import { excessFloor, type Measured } from '../search/prefiltered.js';
import { COARSE_ROWS, sampleTokens } from '../search/selection/sampling.js';
import type { EncodedQuery, SearchEngine } from '../search/search-types.js';

/** What is known of a query that is a protein of the release. */
export interface KnownQuery {
  /** The target that the query is. */
  readonly self: number;
  /** All hits of the look-up. */
  readonly hits: CodebookHits;
  /** Full comparison with the hits of the largest pool at least. */
  readonly measured: Measured;
  /** Sums with the calibration's reference set. */
  readonly referenceSums: MaxSimSums | undefined;
}

/** Whether the policy with these counts rescores a target. */
export type IsRescored = (counts: RescoreCandidates) => boolean;

/**
 * Orders all targets except for the query as the look-up does. Those without any score are the last ones.
 * Shape   [targetCount − 1]
 * Unit    target indices, best first
 * Errors  none
 */
export function orderOfHits(
  { targets, ranks }: CodebookHits,
  self: number,
  targetCount: number,
): Uint32Array {
  const best = new Uint32Array(targets.length);
  for (const [at, target] of targets.entries()) best[ranks[at]] = target;
  const isHit = new Uint8Array(targetCount);
  for (const target of targets) isHit[target] = 1;
  const others = Array.from(isHit.keys()).filter((target) => isHit[target] === 0);
  return Uint32Array.from([...best, ...others]).filter((target) => target !== self);
}

/**
 * Rescores the pools of one query as the codebook policies do, without the query itself.
 * Shape   a function of the target, then of the counts of a policy
 * Errors  Fault of the kernels; the signal's reason
 * Cost    one sweep of the largest pool
 * @param candidates  counts of the policies that are asked about
 */
export async function rescoredInSteps(
  query: EncodedQuery,
  { self, hits: found, measured, referenceSums }: KnownQuery,
  candidates: readonly RescoreCandidates[],
  engine: SearchEngine,
  options: KernelOptions,
): Promise<(target: number) => IsRescored> {
  const { release, backend, store } = engine;
  const poolCounts = [...new Set(candidates.map(({ pool_count: count = 0 }) => count))];
  const mostCount = Math.max(...candidates.map(({ nearest_count: count }) => count));
  const others = withoutTarget(found, self);
  const largestPool = Math.max(...poolCounts);
  const pool = selected(others, (at) => others.ranks[at] < largestPool);
  const { targets } = pool;
  const sampled = sampleTokens(query.tokens, COARSE_ROWS);
  const [swept] = await backend.sweep(store, [sampled], targets, excessFloor(release), options);
  const measure = measuredAmong(measured);
  const judge = uncontrolledJudge(unfilteredSpace(release), engine);
  const work = { engine, options, referenceSums };
  const places = new Map<number, ReadonlyMap<number, number>>();
  for (const poolCount of poolCounts) {
    const hits = selected(pool, (at) => pool.ranks[at] < poolCount);
    const sumsOfHits = { sums: sumsOfSome(swept, targets, hits.targets), rowCount: sampled.length };
    const order = inOrderOfEvidence({ ...hits, ...sumsOfHits }, mostCount, release);
    const rescored =
      referenceSums === undefined
        ? order
        : (await measureInSteps(query, { ...hits, swept: sumsOfHits }, mostCount, judge, work, measure))
            .targets;
    places.set(
      poolCount,
      new Map(Array.from(order.subarray(0, rescored.length), (target, at) => [target, at])),
    );
  }
  return (target) =>
    ({ nearest_count: count, pool_count: poolCount = 0 }) =>
      (places.get(poolCount)?.get(target) ?? Infinity) < count;
}

/** Returns a function that looks up the measures of some of the measured targets. */
function measuredAmong({ targets, sums, affineScores }: Measured): MeasureTargets {
  const places = new Map(Array.from(targets, (target, at) => [target, at]));
  return (wanted) => {
    const of = (values: Int32Array): Int32Array =>
      Int32Array.from(wanted, (target) => {
        const place = places.get(target);
        assert(place !== undefined, 'the hits of the largest pool are compared');
        return values[place];
      });
    return Promise.resolve({
      targets: wanted,
      sums: { queryToTarget: of(sums.queryToTarget), targetToQuery: of(sums.targetToQuery) },
      affineScores: of(affineScores),
    });
  };
}

/** Removes one target from the hits. Worse hits move up by one rank. */
function withoutTarget(hits: CodebookHits, target: number): CodebookHits {
  const rank = hits.ranks[hits.targets.indexOf(target)] ?? Infinity;
  const others = selected(hits, (at) => hits.targets[at] !== target);
  return { ...others, ranks: others.ranks.map((own) => (own > rank ? own - 1 : own)) };
}

/** Returns the hits at some places, in their order. */
function selected(
  { targets, kmers, ranks }: CodebookHits,
  isSelected: (at: number) => boolean,
): CodebookHits {
  const of = (values: Uint32Array): Uint32Array => values.filter((_, at) => isSelected(at));
  return { targets: of(targets), kmers: of(kmers), ranks: of(ranks) };
}

/** Sums of some of the targets; both lists ascend. */
function sumsOfSome(sums: SweptSums, targets: Uint32Array, some: Uint32Array): SweptSums {
  let at = 0;
  const places = Array.from(some, (target) => {
    while (targets[at] < target) at += 1;
    return at;
  });
  const of = (values: Int32Array): Int32Array => Int32Array.from(places, (place) => values[place]);
  return {
    queryToTarget: of(sums.queryToTarget),
    targetToQuery: of(sums.targetToQuery),
    queryExcess: of(sums.queryExcess),
  };
}
