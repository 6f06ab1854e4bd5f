import type { KernelOptions, MaxSimSums, PairMeasures, QueryTokens } from '../kernels/kernels.js';
import { affineParameters } from '../search/affine.js';
import { ascending, bestOf, excessFloor, prefilterCountsOf } from '../search/prefiltered.js';
import { bestByCodebook, codebookCountsOf, lookUp } from '../search/codebook.js';
import { maxsimDistances } from '../search/rank.js';
import { rank } from '../search/rank.js';
import type { Scored } from '../search/search-types.js';
import { COARSE_ROWS, FINE_ROWS, sampleTokens } from '../search/sampling.js';
import type { EncodedQuery, RescoreCounts, SearchEngine } from '../search/search-types.js';
import { createJudge } from '../search/significance.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { openTokenReader, type TokenReader } from '../release/rows/token-reader.js';
import { EVIDENT_EXPECTED_FALSE_HITS } from '../recall/policy-card.js';
import type { QualifyOptions } from './options.js';

/** Where a sweep has a target in its two orders, from 1; infinite beyond what is told apart. */
export interface Place {
  readonly byNearness: number;
  readonly byExcess: number;
}

/** The places of a target in the sweep of all targets, or by their codes, and in the sweep of the largest pool. */
export interface SweptPlaces {
  readonly coarse: Place;
  readonly fine: Place;
}

/** Where the sampled sweep has what is to be found for one query. */
export interface QueryPlaces {
  readonly queryLength: number;
  /** The 100 nearest targets, nearest first. */
  readonly nearest: readonly SweptPlaces[];
  /** The aligned targets whose E-value is small enough; undefined without a calibration. */
  readonly evident: readonly SweptPlaces[] | undefined;
}

/** Queries that read a target's tokens together. */
const PACK_QUERIES = 8;
const NEAREST_COUNT = 100;

type Measured = QualifyOptions & { readonly counts: RescoreCounts };

/**
 * Searches the release with some of its own proteins, each of which counts as absent. They are asked as they stand in
 * it, so that those with relatives need not find them again.
 * @param counts  finalists that are told apart
 */
export async function measurePlaces(
  targets: readonly number[],
  aligned: Uint32Array,
  options: Measured,
): Promise<readonly QueryPlaces[]> {
  const reader = await openTokenReader(options.engine.release);
  try {
    return await measureAll(targets, aligned, options, reader);
  } finally {
    await reader.close();
  }
}

async function measureAll(
  targets: readonly number[],
  aligned: Uint32Array,
  options: Measured,
  reader: TokenReader,
): Promise<readonly QueryPlaces[]> {
  const { engine, signal, onProgress } = options;
  const { release, backend, store, threads } = engine;
  const kernelOptions = { signal, threads };
  const places: QueryPlaces[] = [];
  for (let start = 0; start < targets.length; start += PACK_QUERIES) {
    onProgress?.({ stage: 'qualify', done: start, total: targets.length });
    const pack = targets.slice(start, start + PACK_QUERIES);
    const sequences = pack.map((target) => release.targets.sequence(target));
    const tokens = await Promise.all(pack.map((target) => reader.read(target)));
    const isMeasured = engine.calibration !== undefined && aligned.length === release.targets.count;
    const compared = isMeasured ? [] : await backend.maxsim(store, tokens, undefined, kernelOptions);
    const ordersOf = await sweepAll(tokens, engine, kernelOptions);
    for (const [at, target] of pack.entries()) {
      const query = { sequence: sequences[at], normalizationId: '', tokens: tokens[at] };
      const placeOf = await placesOf(query.tokens, ordersOf(at), target, options, kernelOptions);
      const scored = await scoreAligned(query, aligned, options, kernelOptions);
      const sums = scored !== undefined && isMeasured ? scored : compared[at];
      const others = await rank({ sums, targets: undefined }, tokens[at].length, release, NEAREST_COUNT + 1);
      const nearest = others.map(({ targetIndex }) => targetIndex).filter((other) => other !== target);
      const evident =
        scored && (await evidentTargets(query, sums, aligned, scored.scores, options, kernelOptions));
      places.push({
        queryLength: query.tokens.length,
        nearest: nearest.slice(0, NEAREST_COUNT).map(placeOf),
        evident: evident?.filter((other) => other !== target).map(placeOf),
      });
    }
  }
  onProgress?.({ stage: 'qualify', done: targets.length, total: targets.length });
  return places;
}

type Orders = Awaited<ReturnType<typeof bestOf>>;
/** The best of all targets for one query. */
type Best = (most: RescoreCounts) => Promise<Orders>;

/** The first look at all targets: by their codes where the engine has them, else by a few rows of each query. */
async function sweepAll(
  tokens: readonly QueryTokens[],
  { backend, store, release, codebook }: SearchEngine,
  options: KernelOptions,
): Promise<(query: number) => Best> {
  if (codebook !== undefined) {
    const sums = await lookUp(tokens, undefined, { codebook, release }, options);
    return (query) => (most) => bestByCodebook(sums[query], undefined, most, release);
  }
  const sampled = tokens.map((query) => sampleTokens(query, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, undefined, excessFloor(release), options);
  return (query) => (most) => bestOf(swept[query], undefined, sampled[query].length, most, release);
}

/** How many of each order the first look leaves. */
export function prefilterCountsOfPolicy(
  { codebook, release }: Pick<SearchEngine, 'codebook' | 'release'>,
  counts: RescoreCounts,
): RescoreCounts {
  return codebook === undefined ? prefilterCountsOf(counts) : codebookCountsOf(counts, release.targets.count);
}

/** The places of targets in both sweeps, the query itself left out. */
async function placesOf(
  tokens: QueryTokens,
  bestOfAll: Best,
  self: number,
  { engine, counts }: Measured,
  options: KernelOptions,
): Promise<(target: number) => SweptPlaces> {
  const { release, backend, store, codebook } = engine;
  const left = await bestOfAll(withSelf(prefilterCountsOfPolicy(engine, counts)));
  const hits = ascending(left);
  const sampled = sampleTokens(tokens, codebook === undefined ? FINE_ROWS : COARSE_ROWS);
  const [swept] = await backend.sweep(store, [sampled], hits, excessFloor(release), options);
  const best = await bestOf(swept, hits, sampled.length, withSelf(counts), release);
  const [coarsePlace, finePlace] = [placeIn(left, self), placeIn(best, self)];
  return (target) => ({ coarse: coarsePlace(target), fine: finePlace(target) });
}

function withSelf({ nearestCount, localCount }: RescoreCounts): RescoreCounts {
  return { nearestCount: nearestCount + 1, localCount: localCount + 1 };
}

function placeIn({ nearest, local }: Orders, self: number): (target: number) => Place {
  const placesIn = (list: readonly number[]): Map<number, number> =>
    new Map(list.filter((target) => target !== self).map((target, above) => [target, above + 1]));
  const [nearness, excess] = [placesIn(nearest), placesIn(local)];
  return (target) => ({
    byNearness: nearness.get(target) ?? Infinity,
    byExcess: excess.get(target) ?? Infinity,
  });
}

/** What the aligned targets score; undefined where no calibration tells what scores are worth. */
async function scoreAligned(
  query: EncodedQuery,
  aligned: Uint32Array,
  { engine: { release, backend, store, calibration } }: QualifyOptions,
  options: KernelOptions,
): Promise<PairMeasures | undefined> {
  if (calibration === undefined) return undefined;
  const parameters = affineParameters(release, query, aligned);
  return backend.measure(store, query.tokens, aligned, parameters, options);
}

/** Of the aligned targets those that are no chance. */
async function evidentTargets(
  query: EncodedQuery,
  exact: MaxSimSums,
  aligned: Uint32Array,
  scores: Int32Array,
  { engine }: QualifyOptions,
  options: KernelOptions,
): Promise<readonly number[]> {
  const { release } = engine;
  const calibration = engine.calibration!;
  const { sequence, tokens } = query;
  const sumsOf = (target: number): { queryToTarget: number; targetToQuery: number } => ({
    queryToTarget: exact.queryToTarget[target],
    targetToQuery: exact.targetToQuery[target],
  });
  const candidates = Array.from(aligned, (target, at): Scored => {
    const sums = sumsOf(target);
    const length = release.targets.length(target);
    return {
      rank: at + 1,
      targetIndex: target,
      queryToTargetSum: sums.queryToTarget,
      targetToQuerySum: sums.targetToQuery,
      maxsim: maxsimDistances(sums, tokens.length, length, release.manifest.encoder.inverse_step),
      affine: { rawScore: scores[at], normalizedScore: 0 },
    };
  });
  // A map of unsigned integers would be one, too.
  const referenceSet = {
    queryToTarget: Int32Array.from(calibration.referenceSet, (target) => exact.queryToTarget[target]),
    targetToQuery: Int32Array.from(calibration.referenceSet, (target) => exact.targetToQuery[target]),
  };
  const judge = createJudge(
    { significance: 'if_available', targetSpace: unfilteredSpace(release) },
    [sequence],
    engine,
  );
  const judged = await judge(query, candidates, referenceSet, options);
  const limit = Math.log(EVIDENT_EXPECTED_FALSE_HITS);
  return judged
    .filter(({ significance }) => significance.kind === 'supported' && significance.logEValue <= limit)
    .map(({ targetIndex }) => targetIndex);
}
