import { EXCESS_COSINE, POOL_FACTOR } from '../recall/policy-card.js';
import { assert } from '../errors.js';
import type { KernelOptions, KernelRetry, MaxSimSums, QueryTokens, SweptSums } from '../kernels/kernels.js';
import type { Release, TargetSpace } from '../release/release.js';
import { affineParameters } from './pairs/affine.js';
import { compareReferenceSet } from './exhaustive.js';
import { rank } from './rank.js';
import { withComparedScores } from './rescore.js';
import { COARSE_ROWS, FINE_ROWS, sampleTokens } from './selection/sampling.js';
import type {
  Candidate,
  Compared,
  EncodedQuery,
  PartialScan,
  RescoreCounts,
  ResolvedPolicy,
  ScannedTargets,
  ScanWork,
  SearchEngine,
  SearchPlan,
  SearchSettings,
} from './search-types.js';
import { greatest, type ValuesOf } from './selection/shortlist.js';

/** How a policy selects targets before it measures any of them exactly, and in which order it measures them. */
export interface Prefilter {
  readonly partial: PartialScan;
  /** Rows of a query that rank its prefilter hits. */
  readonly rowCount: number;
  /** Number of hits up to which a query's hits need no ranks. */
  readonly unrankedCount: number;
  hitsOf(queries: readonly EncodedQuery[], scanned: ScannedTargets, work: ScanWork): Promise<PrefilterHits>;
  /** Measures the best hits of one query exactly. */
  measure(query: EncodedQuery, hits: SweptHits, work: MeasureWork): Promise<Measured>;
}

/** Exact sums and affine scores of some targets. */
export type Measured = Required<Pick<Compared, 'sums' | 'affineScores'>> & { readonly targets: Uint32Array };

export interface MeasureWork {
  readonly engine: SearchEngine;
  readonly options: KernelOptions;
  /** Sums of the query with the calibration's reference set; undefined without a calibration. */
  readonly referenceSums: MaxSimSums | undefined;
}

/** Prefilter hits of one query. */
export interface QueryHits {
  /** Target indices, ascending. */
  readonly targets: Uint32Array;
  /** Scores of the same targets by k-mers above chance; absent if no k-mers were looked up. */
  readonly kmers?: Uint32Array;
}

/** Prefilter hits of one query, and sums of `rowCount` of its rows with them. */
export interface SweptHits extends QueryHits {
  readonly swept?: { readonly sums: SweptSums; readonly rowCount: number };
}

/** Prefilter hits of each query. */
export interface PrefilterHits {
  readonly hits: readonly QueryHits[];
  /** Present if a device failed and the CPU served in its place. */
  readonly retry?: KernelRetry;
}

type SearchedSpace = Pick<TargetSpace, 'eligible' | 'searchedTargetCount'>;
type Kernels = Pick<SearchEngine, 'backend' | 'store' | 'release'>;

/** Plans a search with the sampled policy: a sweep of a few rows of each query over all eligible targets. */
export function sampledPlan(policy: ResolvedPolicy, settings: SearchSettings): SearchPlan {
  const { targetSpace } = settings;
  const counts = countsOf(policy);
  const isWhole = isMeasuredWhole(counts, targetSpace);
  return prefilteredPlan(policy, settings, {
    rowCount: FINE_ROWS,
    unrankedCount: counts.nearestCount,
    partial: isWhole ? EMPTY_PARTIAL : sweptPartial(counts),
    async hitsOf(queries, scanned, { engine }) {
      if (isWhole) return { hits: allHits(queries.length, targetSpace) };
      const swept = await scanned.sweep(counts);
      const most = prefilterCountsOf(counts);
      const hits: QueryHits[] = [];
      for (const [index, { targets, ...sums }] of swept.entries()) {
        const rowCount = Math.min(queries[index].tokens.length, COARSE_ROWS);
        hits.push({ targets: ascending(await bestOf(sums, targets, rowCount, most, engine.release)) });
      }
      return { hits, retry: swept[0]?.retry };
    },
    async measure(query, { targets, swept }, { engine, options }) {
      const best = swept && (await bestOf(swept.sums, targets, swept.rowCount, counts, engine.release));
      return measureTargets(query, best === undefined ? targets : ascending(best), engine, options);
    },
  });
}

/**
 * Plans a search that compares each query with the candidates that a prefilter leaves. All these candidates are
 * rescored and judged, and those with the best evidence are listed. Judging is needed even if no E-value is requested.
 */
export function prefilteredPlan(
  policy: ResolvedPolicy,
  { significance, limit }: SearchSettings,
  prefilter: Prefilter,
): SearchPlan {
  return Object.freeze<SearchPlan>({
    policy,
    significance: significance === 'not_requested' ? 'if_available' : significance,
    partial: prefilter.partial,
    rankedCount: Infinity,
    async compare(queries, scanned, work) {
      const { engine, options, optionsOf } = work;
      const tokens = queries.map((query) => query.tokens);
      const { hits, retry } = await prefilter.hitsOf(queries, scanned, work);
      const referenceSet = engine.calibration?.referenceSet;
      const referenceSums = await compareReferenceSet(tokens, referenceSet, engine, options);
      const swept = await sweepPrefilterHits(tokens, hits, prefilter, engine, options);
      return queries.map((query, at) => async () => {
        const ofQuery = referenceSums?.[at];
        const queryWork = { engine, options: optionsOf(query), referenceSums: ofQuery };
        const measured = await prefilter.measure(query, swept[at], queryWork);
        const servedBy = ofQuery?.retry ?? retry ?? measured.sums.retry;
        const prefilteredCount = hits[at].targets.length;
        return { ...measured, prefilteredCount, referenceSums: ofQuery, retry: servedBy };
      });
    },
    rescore: (query, ranked, compared, engine) =>
      Promise.resolve({ candidates: withComparedScores(ranked, compared, query, engine) }),
    choose: (candidates) => chooseFrontier(withEvidenceRanks(candidates), limit),
  });
}

/** Counts of a prefilter policy. */
function countsOf({ sampled }: ResolvedPolicy): RescoreCounts {
  assert(sampled !== undefined, 'a prefilter policy has counts');
  return sampled;
}

/**
 * Returns the eligible targets as the prefilter hits of every query.
 * Shape   one value with all eligible targets, shared by `queryCount` entries
 * Unit    target indices, ascending
 */
export function allHits(queryCount: number, { eligible, searchedTargetCount }: SearchedSpace): QueryHits[] {
  const targets = eligible ?? Uint32Array.from({ length: searchedTargetCount }, (_, target) => target);
  return new Array<QueryHits>(queryCount).fill({ targets });
}

/** Whether the prefilter hits have room for all eligible targets, so that a sweep would select nothing. */
function isMeasuredWhole(counts: RescoreCounts, { searchedTargetCount }: SearchedSpace): boolean {
  return searchedTargetCount <= prefilterCountsOf(counts).nearestCount;
}

/**
 * Sums of at most COARSE_ROWS rows of each query with the eligible targets.
 * Shape   one value per query; its arrays have one element per eligible target
 * Unit    sums of int8 products; `queryExcess` above `excessFloor`
 * Range   int32
 * Errors  Fault of the kernels; the signal's reason
 * @param eligible  positions in the store, ascending; undefined for all
 */
export function sweptSums(
  queries: readonly QueryTokens[],
  eligible: Uint32Array | undefined,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly SweptSums[]> {
  const sampled = queries.map((query) => sampleTokens(query, COARSE_ROWS));
  return backend.sweep(store, sampled, eligible, excessFloor(release), options);
}

/** Partial results of a plan that needs no sums of partitions. */
export const EMPTY_PARTIAL: PartialScan = Object.freeze<PartialScan>({
  columns: 4,
  sampled: undefined,
  countsAmong: () => ({ least: 0, most: 0 }),
  scan: (queries) => Promise.resolve(queries.map(() => NO_SUMS)),
});

const NONE = new Int32Array(0);
const NO_SUMS = { targets: new Uint32Array(0), queryToTarget: NONE, targetToQuery: NONE, queryExcess: NONE };

/** Partial results of the sampled policy: the prefilter hits of each partition, with their sums of a few rows. */
export function sweptPartial(counts: RescoreCounts): PartialScan {
  const most = prefilterCountsOf(counts);
  return {
    columns: 4,
    sampled: counts,
    countsAmong: (eligibleCount) => ({
      least: Math.min(most.nearestCount, eligibleCount),
      most: Math.min(most.nearestCount + most.localCount, eligibleCount),
    }),
    async scan(queries, { targets, inStore }, engine, options) {
      // For no targets, the kernels return no excess column.
      if (targets.length === 0) return queries.map(() => NO_SUMS);
      const swept = await sweptSums(queries, inStore, engine, options);
      return Promise.all(
        swept.map(async (sums, query) => {
          const rowCount = Math.min(queries[query].length, COARSE_ROWS);
          const best = ascending(await bestOf(sums, targets, rowCount, most, engine.release));
          let place = 0;
          const places = best.map((target) => {
            while (targets[place] < target) place += 1;
            return place;
          });
          const at = (values: Int32Array): Int32Array => Int32Array.from(places, (from) => values[from]);
          return {
            targets: best,
            queryToTarget: at(sums.queryToTarget),
            targetToQuery: at(sums.targetToQuery),
            queryExcess: at(sums.queryExcess),
          };
        }),
      );
    },
  };
}

/** Sums of each query with its own prefilter hits; none for a query whose hits need no ranks. */
async function sweepPrefilterHits(
  queries: readonly QueryTokens[],
  hits: readonly QueryHits[],
  { rowCount, unrankedCount }: Prefilter,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly SweptHits[]> {
  const wide = hits.flatMap(({ targets }, query) => (targets.length > unrankedCount ? [query] : []));
  const sampled = wide.map((query) => sampleTokens(queries[query], rowCount));
  const lists = wide.map((query) => hits[query].targets);
  const sums = await backend.sweepLists(store, sampled, lists, excessFloor(release), options);
  const swept: SweptHits[] = [...hits];
  for (const [at, query] of wide.entries())
    swept[query] = { ...hits[query], swept: { sums: sums[at], rowCount: sampled[at].length } };
  return swept;
}

/**
 * Exact sums and affine scores of one query with listed targets.
 * Shape   one element per target, in list order
 * Unit    as of `KernelBackend.measure`
 * Errors  Fault of the kernels; the signal's reason
 */
export async function measureTargets(
  query: EncodedQuery,
  targets: Uint32Array,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<Measured> {
  const parameters = affineParameters(release, query, targets);
  const { scores, ...sums } = await backend.measure(store, query.tokens, targets, parameters, options);
  return { targets, sums, affineScores: scores };
}

/**
 * Selects the `limit` candidates with the best evidence and keeps their order.
 * Unit    ranks are counted anew
 */
export function chooseFrontier(candidates: readonly Candidate[], limit: number): readonly Candidate[] {
  if (candidates.length <= limit) return candidates;
  const chosen = new Set(inOrderOfEvidence(candidates).slice(0, limit));
  return candidates
    .filter((candidate) => chosen.has(candidate))
    .map((candidate, above) => ({ ...candidate, rank: above + 1 }));
}

/**
 * Adds each candidate's place in the order of evidence, in which every shorter list is the beginning of a longer one.
 * Unit    `evidenceRank` from 1; the order of the candidates stays
 */
export function withEvidenceRanks(candidates: readonly Candidate[]): readonly Candidate[] {
  const places = new Map(inOrderOfEvidence(candidates).map((candidate, above) => [candidate, above + 1]));
  return candidates.map((candidate) => ({ ...candidate, evidenceRank: places.get(candidate) }));
}

/**
 * Candidates by evidence, best first. Smaller E-values are better; equal E-values are ordered by affine score. A
 * candidate without an E-value has the place of its affine score among all.
 */
function inOrderOfEvidence(candidates: readonly Candidate[]): readonly Candidate[] {
  const byScore = [...candidates].sort((a, b) => b.affine.rawScore - a.affine.rawScore || a.rank - b.rank);
  // Sorting is stable: equal tails stay in the order of their scores.
  const judged = byScore
    .filter((candidate) => tailOf(candidate) !== undefined)
    .sort((a, b) => tailOf(a)! - tailOf(b)!);
  let best = 0;
  return byScore.map((candidate) => (tailOf(candidate) === undefined ? candidate : judged[best++]));
}

/** ln of the tail probability. It orders the candidates of one query as their E-values do. */
function tailOf({ significance }: Candidate): number | undefined {
  return significance.kind === 'supported' ? significance.logTailProbability : undefined;
}

/** Counts of the prefilter hits from which so many candidates to rescore are selected. */
export function prefilterCountsOf({ nearestCount, localCount }: RescoreCounts): RescoreCounts {
  return { nearestCount: POOL_FACTOR * nearestCount, localCount: POOL_FACTOR * localCount };
}

/**
 * Best targets in two orders: nearest by rank, and best local matches.
 * Shape   sums: one element per eligible target
 * Unit    sums of int8 products of `rowCount` rows of the query
 * Range   at most `nearestCount` and `localCount` targets, each order from its best
 * Errors  none
 * @param eligible  targets of the sums, ascending; undefined for all
 */
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

/**
 * Union of two lists of targets, without repeats.
 * Shape   at most the elements of both lists
 * Unit    target indices
 * Range   ascending
 */
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
 * Targets with the best local matches: greatest excess divided by the square root of the target's length. Targets
 * without excess are left out. Long targets have more rows that are near by chance. In six proteomes, half as many
 * candidates by the square root hold as much of what has E ≤ 0.001 as by the fourth root, which selects mostly giants.
 * Shape   queryExcess: one element per eligible target
 * Unit    excess in int8 products above `excessFloor`
 * Range   target indices, best first, at most `count`
 * Errors  none
 * @param eligible  targets of the excesses, ascending; undefined for all
 */
export async function bestLocal(
  queryExcess: Int32Array,
  eligible: Uint32Array | undefined,
  count: number,
  { targets }: Pick<Release, 'targets'>,
): Promise<readonly number[]> {
  const targetAt = (place: number): number => (eligible === undefined ? place : eligible[place]);
  const valuesOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1) {
      values[place - start] = queryExcess[place] / Math.sqrt(targets.length(targetAt(place)));
    }
  };
  const places = await greatest(queryExcess.length, valuesOf, count);
  return places.filter((place) => queryExcess[place] > 0).map(targetAt);
}

/** Dot product above which a row counts as excess. With `gloaming-1`, one of fourteen best dot products is above. */
export function excessFloor({ manifest }: Pick<Release, 'manifest'>): number {
  return Math.round(EXCESS_COSINE * manifest.encoder.inverse_step ** 2);
}
