import { EXCESS_COSINE, POOL_FACTOR } from '../../recall/policy-card.js';
import type { KernelOptions, KernelRetry, QueryTokens, SweptSums } from '../../kernels/kernels.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { affineParameters } from '../affine.js';
import { rank } from '../rank.js';
import { greatest, type ValuesOf } from '../shortlist.js';
import { COARSE_ROWS, FINE_ROWS, sampleTokens } from './sampling.js';
import type { Compared, EncodedQuery, RescoreCounts, SearchEngine } from '../search-types.js';

/**
 * The pool of each query, ascending: what a few of its rows leave of all eligible targets, in two orders. The nearest
 * are so by MaxSim in both directions; the striking ones have rows of the query that stand out, whatever the rest of it
 * is like: a domain in a longer protein.
 * Order   nearest by rank (rank.ts); striking by excess for their length, equal ones by target
 * Errors  Fault of the kernels; the signal's reason
 */
export async function sweepSampled(
  queries: readonly QueryTokens[],
  counts: RescoreCounts,
  targetSpace: SearchedSpace,
  engine: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<SampledHits> {
  const { backend, store, release } = engine;
  if (isMeasuredWhole(counts, targetSpace)) {
    const targets = eligibleTargets(targetSpace);
    return { prefilterHits: queries.map(() => targets) };
  }
  const most = prefilterCountsOf(counts);
  const { eligible } = targetSpace;
  const sampled = queries.map((query) => sampleTokens(query, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, eligible, excessFloor(release), options);
  const prefilterHits: Uint32Array[] = [];
  for (const [query, sums] of swept.entries()) {
    prefilterHits.push(ascending(await bestOf(sums, eligible, sampled[query].length, most, release)));
  }
  return { prefilterHits, retry: swept[0]?.retry };
}

export interface SampledHits {
  readonly prefilterHits: readonly Uint32Array[];
  /** Present where a device failed at the sweep. */
  readonly retry?: KernelRetry;
}

type SearchedSpace = Pick<TargetSpace, 'eligible' | 'searchedTargetCount'>;

/** Whether the pool has room for all targets, so that none need be swept. */
export function isMeasuredWhole(counts: RescoreCounts, { searchedTargetCount }: SearchedSpace): boolean {
  return searchedTargetCount <= prefilterCountsOf(counts).nearestCount;
}

/** All eligible targets, ascending. */
export function eligibleTargets({ eligible, searchedTargetCount }: SearchedSpace): Uint32Array {
  return eligible ?? Uint32Array.from({ length: searchedTargetCount }, (_, target) => target);
}

/**
 * What more rows of each query than made its pool say of that; undefined where all of the pool are finalists. A target
 * is read once for all queries.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function sweepPrefilterHits(
  queries: readonly QueryTokens[],
  prefilterHits: readonly Uint32Array[],
  { nearestCount, usesCodebook }: PrefilterCounts,
  { backend, store, release }: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<readonly (SweptHits | undefined)[]> {
  const wide = prefilterHits.flatMap((hits, query) => (hits.length > nearestCount ? [query] : []));
  const sampled = wide.map((query) => sampleTokens(queries[query], usesCodebook ? COARSE_ROWS : FINE_ROWS));
  const lists = wide.map((query) => prefilterHits[query]);
  const sums = await backend.sweepLists(store, sampled, lists, excessFloor(release), options);
  const swept = new Array<SweptHits | undefined>(queries.length).fill(undefined);
  for (const [at, query] of wide.entries()) swept[query] = { sums: sums[at], rowCount: sampled[at].length };
  return swept;
}

/** Sums of a pool, and of how many rows of its query. */
export interface SweptHits {
  readonly sums: SweptSums;
  readonly rowCount: number;
}

type PrefilterCounts = RescoreCounts & { readonly usesCodebook: boolean };

/** Exact sums and affine scores of one query with its finalists, the best of its pool. */
export async function compareRescoreCandidates(
  query: EncodedQuery,
  hits: Uint32Array,
  swept: SweptHits | undefined,
  counts: RescoreCounts,
  { backend, store, release }: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<Compared> {
  const targets =
    swept === undefined ? hits : ascending(await bestOf(swept.sums, hits, swept.rowCount, counts, release));
  const parameters = affineParameters(release, query, targets);
  const { scores, ...sums } = await backend.measure(store, query.tokens, targets, parameters, options);
  return { targets, sums, affineScores: scores };
}

/** How many of each order are in the pool of so many finalists. */
export function prefilterCountsOf({ nearestCount, localCount }: RescoreCounts): RescoreCounts {
  return { nearestCount: POOL_FACTOR * nearestCount, localCount: POOL_FACTOR * localCount };
}

/** The best targets of both orders, each order from its best. @param eligible  what the sums are of */
export async function bestOf(
  sums: SweptSums,
  eligible: Uint32Array | undefined,
  rowCount: number,
  { nearestCount, localCount }: RescoreCounts,
  release: Release,
): Promise<{ readonly nearest: readonly number[]; readonly local: readonly number[] }> {
  const ranked = await rank({ sums, targets: eligible }, rowCount, release, nearestCount);
  return {
    nearest: ranked.map(({ targetIndex }) => targetIndex),
    local: await bestLocal(sums.queryExcess, eligible, localCount, release),
  };
}

/** All of both, each once. */
export function ascending({
  nearest,
  local,
}: {
  readonly nearest: readonly number[];
  readonly local: readonly number[];
}): Uint32Array {
  const targets = new Uint32Array(nearest.length + local.length);
  targets.set(nearest);
  targets.set(local, nearest.length);
  targets.sort();
  let count = 0;
  for (const target of targets) {
    if (count === 0 || targets[count - 1] !== target) targets[count++] = target;
  }
  return targets.slice(0, count);
}

/**
 * The targets that stand out most for their length, most striking first; those that do not are not among them. Long
 * targets have more rows to be near by chance. Half as many by the square root of the length hold as much of what is
 * evident in six proteomes as by its fourth root, by which most are giants.
 * @param eligible  what the excesses are of; undefined for all targets
 */
export function bestLocal(
  queryExcess: Int32Array,
  eligible: Uint32Array | undefined,
  count: number,
  release: Pick<Release, 'targets'>,
): Promise<readonly number[]> {
  return bestLocalBy(Math.sqrt, queryExcess, eligible, count, release);
}

/** The same by another measure of what excess a length has by chance. */
export async function bestLocalBy(
  chanceOf: (length: number) => number,
  excess: Int32Array | Uint32Array,
  eligible: Uint32Array | undefined,
  count: number,
  { targets }: Pick<Release, 'targets'>,
): Promise<readonly number[]> {
  const targetAt = (place: number): number => (eligible === undefined ? place : eligible[place]);
  const valuesOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1) {
      values[place - start] = excess[place] / chanceOf(targets.length(targetAt(place)));
    }
  };
  const places = await greatest(excess.length, valuesOf, count);
  return places.filter((place) => excess[place] > 0).map(targetAt);
}

/** The dot product above which rows strike: of `gloaming-1` one best in fourteen. */
export function excessFloor({ manifest }: Pick<Release, 'manifest'>): number {
  return Math.round(EXCESS_COSINE * manifest.encoder.inverse_step ** 2);
}
