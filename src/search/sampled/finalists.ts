import { EXCESS_COSINE } from '../../calibration/policy-card.js';
import type { KernelOptions, MaxSimSums, QueryTokens } from '../../kernels/kernels.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { Compared } from '../compare.js';
import { rank, shortlist } from '../rank.js';
import { sampleTokens } from './sampling.js';
import type { FinalistCounts, SearchEngine } from '../search-types.js';

/** What the sampled sweep leaves of all eligible targets for one query. */
export interface Finalists {
  /** Ascending. */
  readonly targets: Uint32Array;
}

/**
 * The finalists of each query: all eligible targets are looked at with a few of the query's rows.
 * Order   nearest by rank (rank.ts); striking by excess for their length, equal ones by target
 * Errors  Fault of the kernels; the signal's reason
 */
export async function sweepSampled(
  queries: readonly QueryTokens[],
  counts: FinalistCounts,
  { eligible, searchedTargetCount }: Pick<TargetSpace, 'eligible' | 'searchedTargetCount'>,
  engine: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<readonly Finalists[]> {
  const { backend, store, release } = engine;
  if (searchedTargetCount <= counts.nearestCount) {
    const targets = eligible ?? Uint32Array.from({ length: searchedTargetCount }, (_, target) => target);
    return queries.map(() => ({ targets }));
  }
  const sampled = queries.map(sampleTokens);
  const swept = await backend.sweep(store, sampled, eligible, excessFloor(release), options);
  const finalists: Finalists[] = [];
  for (const [query, sums] of swept.entries()) {
    const length = sampled[query].length;
    const nearest = await rank({ sums, targets: eligible }, length, release, counts.nearestCount);
    const striking = await mostStriking(sums.queryExcess, eligible, counts.strikingCount, release);
    const both = new Set([...nearest.map(({ targetIndex }) => targetIndex), ...striking]);
    finalists.push({ targets: Uint32Array.from(both).sort() });
  }
  return finalists;
}

/**
 * The targets that stand out most for their length, most striking first; those that do not are not among them. Long
 * targets have more rows to be near by chance; the fourth root of the length keeps short and long ones even.
 * @param eligible  what the excesses are of; undefined for all targets
 */
export async function mostStriking(
  queryExcess: Int32Array,
  eligible: Uint32Array | undefined,
  count: number,
  { targets }: Pick<Release, 'targets'>,
): Promise<readonly number[]> {
  const targetAt = (place: number): number => (eligible === undefined ? place : eligible[place]);
  const valueAt = (place: number): number =>
    queryExcess[place] / Math.sqrt(Math.sqrt(targets.length(targetAt(place))));
  const places = await shortlist(queryExcess.length, valueAt, count);
  return places
    .filter((place) => queryExcess[place] > 0)
    .sort((a, b) => valueAt(b) - valueAt(a) || a - b)
    .slice(0, count)
    .map(targetAt);
}

/** The dot product above which rows strike: of `gloaming-1` one best in fourteen. */
export function excessFloor({ manifest }: Pick<Release, 'manifest'>): number {
  return Math.round(EXCESS_COSINE * manifest.encoder.inverse_step ** 2);
}

/** Exact sums of one query with its finalists; the panel's were measured for all queries together. */
export async function compareFinalists(
  query: QueryTokens,
  { targets }: Finalists,
  panel: MaxSimSums | undefined,
  { backend, store }: Pick<SearchEngine, 'backend' | 'store'>,
  options: KernelOptions,
): Promise<Compared> {
  const [sums] = await backend.maxsim(store, [query], targets, options);
  return { targets, sums, panel, retry: panel?.retry ?? sums.retry };
}
