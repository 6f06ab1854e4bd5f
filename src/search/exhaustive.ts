import type { KernelOptions, MaxSimSums, QueryTokens } from '../kernels/kernels.js';
import { openInMemory } from '../kernels/memory-store.js';
import type { ReferenceSet } from '../significance/reference-set.js';
import { rank } from './rank.js';
import { rescore } from './rescore.js';
import type {
  Compared,
  EncodedQuery,
  PartialScan,
  ResolvedPolicy,
  ScannedTargets,
  ScanWork,
  SearchEngine,
  SearchPlan,
  SearchSettings,
  TargetSums,
} from './search-types.js';

/** Plans a search that compares every query with every eligible target, all residues of both. */
export function exhaustivePlan(policy: ResolvedPolicy, settings: SearchSettings): SearchPlan {
  const { limit, significance, targetSpace } = settings;
  return Object.freeze<SearchPlan>({
    policy,
    significance,
    partial: nearestPartial(limit),
    rankedCount: limit,
    async compare(queries, scanned, work) {
      const isJudged = significance !== 'not_requested';
      const compared = await compareAll(queries, scanned, isJudged, targetSpace.searchedTargetCount, work);
      return compared.map((each) => () => Promise.resolve(each));
    },
    rescore: (query, ranked, _, engine, options) => rescore(query, ranked, engine, options),
    choose: (candidates) => candidates,
  });
}

async function compareAll(
  queries: readonly EncodedQuery[],
  scanned: ScannedTargets,
  isJudged: boolean,
  prefilteredCount: number,
  { engine, options }: ScanWork,
): Promise<readonly Compared[]> {
  const nearest = await scanned.nearest();
  const referenceSet = isJudged ? engine.calibration?.referenceSet : undefined;
  // Sums with all targets of the release include those with the reference set.
  const isWhole = nearest.every(({ targets }) => targets === undefined);
  const referenceSums =
    referenceSet?.kind === 'targets' && isWhole
      ? nearest.map((sums) => pick(sums, referenceSet.targets))
      : await compareReferenceSet(
          queries.map(({ tokens }) => tokens),
          referenceSet,
          engine,
          options,
        );
  return nearest.map(({ targets, ...sums }, query) => {
    const ofQuery = referenceSums?.[query];
    return { targets, sums, prefilteredCount, referenceSums: ofQuery, retry: ofQuery?.retry ?? sums.retry };
  });
}

/**
 * Exact MaxSim sums of each query with the eligible targets. A backend that selects on its device returns the sums of
 * those targets only that can be among the `limit` nearest, so that few sums are copied. Both rank to the same list.
 * Shape   one value per query; its arrays have one element per target of `targets`
 * Unit    targets: positions in the store, ascending; sums of int8 products
 * Range   sums fit in int32: 65,535 rows × 32,767
 * Errors  Fault of the kernels; the signal's reason
 * @param eligible  positions in the store, ascending; undefined for all
 */
export async function nearestSums(
  queries: readonly QueryTokens[],
  eligible: Uint32Array | undefined,
  limit: number,
  { backend, store }: Pick<SearchEngine, 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly TargetSums[]> {
  if (backend.nearest !== undefined) return backend.nearest(store, queries, eligible, limit, options);
  const sums = await backend.maxsim(store, queries, eligible, options);
  return sums.map((ofQuery) => ({ ...ofQuery, targets: eligible }));
}

/**
 * MaxSim sums of each query with the calibration's reference set; undefined without a reference set.
 * Shape   one value per query; its arrays have one element per protein of the reference set
 * Unit    sums of int8 products
 * Range   as of `nearestSums`
 * Errors  Fault of the kernels; the signal's reason
 */
export async function compareReferenceSet(
  queries: readonly QueryTokens[],
  referenceSet: ReferenceSet | undefined,
  { backend, store }: Pick<SearchEngine, 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly MaxSimSums[] | undefined> {
  if (referenceSet === undefined) return undefined;
  return referenceSet.kind === 'targets'
    ? backend.maxsim(store, queries, referenceSet.targets, options)
    : backend.maxsim(await openInMemory(referenceSet.source, backend), queries, undefined, options);
}

function pick({ queryToTarget, targetToQuery }: MaxSimSums, targets: Uint32Array): MaxSimSums {
  return {
    queryToTarget: Int32Array.from(targets, (target) => queryToTarget[target]),
    targetToQuery: Int32Array.from(targets, (target) => targetToQuery[target]),
  };
}

/** Partial results of an exhaustive search: exact sums with the `limit` nearest targets of each partition. */
export function nearestPartial(limit: number): PartialScan {
  return {
    columns: 3,
    sampled: undefined,
    countsAmong(eligibleCount) {
      const count = Math.min(limit, eligibleCount);
      return { least: count, most: count };
    },
    async scan(queries, { targets, storeFrom, inStore }, engine, options) {
      const scanned = await nearestSums(queries, inStore, limit, engine, options);
      const isSelected = engine.backend.nearest !== undefined;
      return Promise.all(
        scanned.map(async (sums, query) => {
          const named = isSelected ? sums.targets!.map((target) => target + storeFrom) : targets;
          const { length } = queries[query];
          const ranked = [...(await rank({ sums, targets: named }, length, engine.release, limit))];
          ranked.sort((a, b) => a.targetIndex - b.targetIndex);
          return {
            targets: Uint32Array.from(ranked, ({ targetIndex }) => targetIndex),
            queryToTarget: Int32Array.from(ranked, ({ queryToTargetSum }) => queryToTargetSum),
            targetToQuery: Int32Array.from(ranked, ({ targetToQuerySum }) => targetToQuerySum),
          };
        }),
      );
    },
  };
}
