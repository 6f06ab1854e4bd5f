import type { KernelOptions, MaxSimSums, QueryTokens } from '../kernels/kernels.js';
import type { Compared, SearchEngine, SearchRequest } from './search-types.js';

/**
 * Compares each query with all eligible targets. A backend that chooses on its device gives the sums of those that can
 * be among the best only, so that a release's worth of sums never travels; the ranking of both is the same.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function compare(
  queries: readonly QueryTokens[],
  settings: Pick<SearchRequest, 'targetSpace' | 'limit' | 'significance'>,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Compared[]> {
  const { backend, store, calibration } = engine;
  const { limit, significance } = settings;
  const { eligible } = settings.targetSpace;
  const referenceSet = significance === 'not_requested' ? undefined : calibration?.referenceSet;

  if (backend.nearest !== undefined) {
    const found = await backend.nearest(store, queries, eligible, limit, options);
    const referenceSums = await compareReferenceSet(queries, referenceSet, engine, options);
    return found.map(({ targets, ...sums }, query) => gather(targets, sums, referenceSums?.[query]));
  }
  const found = await backend.maxsim(store, queries, eligible, options);
  // The whole release has the panel in it.
  const referenceSums =
    eligible === undefined
      ? referenceSet && found.map((sums) => pick(sums, referenceSet))
      : await compareReferenceSet(queries, referenceSet, engine, options);
  return found.map((sums, query) => gather(eligible, sums, referenceSums?.[query]));
}

/** Sums of each query with a calibration's panel. */
export async function compareReferenceSet(
  queries: readonly QueryTokens[],
  referenceSet: Uint32Array | undefined,
  { backend, store }: Pick<SearchEngine, 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly MaxSimSums[] | undefined> {
  return referenceSet && backend.maxsim(store, queries, referenceSet, options);
}

function gather(
  targets: Uint32Array | undefined,
  sums: MaxSimSums,
  referenceSums: MaxSimSums | undefined,
): Compared {
  return { targets, sums, referenceSums, retry: referenceSums?.retry ?? sums.retry };
}

function pick({ queryToTarget, targetToQuery }: MaxSimSums, targets: Uint32Array): MaxSimSums {
  return {
    queryToTarget: Int32Array.from(targets, (target) => queryToTarget[target]),
    targetToQuery: Int32Array.from(targets, (target) => targetToQuery[target]),
  };
}
