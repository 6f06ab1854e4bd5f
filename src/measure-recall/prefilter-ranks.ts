import type { KernelOptions, MaxSimSums, PairMeasures, QueryTokens } from '../kernels/kernels.js';
import { affineParameters } from '../search/affine.js';
import { compareReferenceSet } from '../search/exhaustive.js';
import { ascending, bestOf, excessFloor } from '../search/prefiltered.js';
import { bestByCodebook, lookUp } from '../search/codebook.js';
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

/** Ranks of a target in the two orders of a sweep, from 1; Infinity if it is not among the measured ranks. */
export interface OrderRanks {
  /** By bidirectional MaxSim similarity. */
  readonly byNearness: number;
  /** By excess, the measure of local matches. */
  readonly byExcess: number;
}

/** Ranks of a target in the first sweep, or in the codebook scan, and in the sweep of the prefilter hits. */
export interface PrefilterRanks {
  readonly coarse: OrderRanks;
  readonly fine: OrderRanks;
}

/** Ranks that the prefilter gives to the relevant targets of one query. */
export interface QueryRanks {
  readonly queryLength: number;
  /** The 100 nearest targets, nearest first. */
  readonly nearest: readonly PrefilterRanks[];
  /** The aligned targets with E ≤ EVIDENT_EXPECTED_FALSE_HITS; undefined without a calibration. */
  readonly evident: readonly PrefilterRanks[] | undefined;
}

/** Queries that share one pass over the tokens of the targets. */
const BATCH_QUERIES = 8;
const NEAREST_COUNT = 100;

/** Numbers of targets of each order up to which ranks are measured, among rescored candidates and prefilter hits. */
interface MeasuredCounts {
  readonly counts: RescoreCounts;
  readonly pool: RescoreCounts;
}

type Measured = QualifyOptions & MeasuredCounts;

/**
 * Searches the release with some of its own proteins, exhaustively and with the prefilter. Each query is left out of
 * its
 * own results. Queries use the stored tokens and profiles of the release, so that no homologs are searched for.
 * @param options  `counts` and `pool` limit the ranks that are measured
 * Shape   aligned [any number]
 * Unit    target indices
 * Range   0..targets of the release − 1; `aligned` ascends
 * Errors  Fault of kernels, encoder or token file; the signal's reason
 */
export async function measureRanks(
  targets: readonly number[],
  aligned: Uint32Array,
  options: Measured,
): Promise<readonly QueryRanks[]> {
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
): Promise<readonly QueryRanks[]> {
  const { engine, signal, onProgress } = options;
  const { release, backend, store, threads } = engine;
  const kernelOptions = { signal, threads };
  const queryRanks: QueryRanks[] = [];
  for (let start = 0; start < targets.length; start += BATCH_QUERIES) {
    onProgress?.({ stage: 'qualify', done: start, total: targets.length });
    const batch = targets.slice(start, start + BATCH_QUERIES);
    const tokens = await Promise.all(batch.map((target) => reader.read(target)));
    const queries = batch.map((target, at) => ({
      sequence: release.targets.sequence(target),
      normalizationId: '',
      tokens: tokens[at],
    }));
    const isMeasured = engine.calibration !== undefined && aligned.length === release.targets.count;
    const compared = isMeasured ? [] : await backend.maxsim(store, tokens, undefined, kernelOptions);
    const ordersOf = await sweepAll(queries, engine, kernelOptions);
    for (const [at, target] of batch.entries()) {
      const query = queries[at];
      const ranksOfTarget = await ranksOf(query.tokens, ordersOf(at), target, options, kernelOptions);
      const scored = await scoreAligned(query, aligned, options, kernelOptions);
      const sums = scored !== undefined && isMeasured ? scored : compared[at];
      const others = await rank({ sums, targets: undefined }, tokens[at].length, release, NEAREST_COUNT + 1);
      const nearest = others.map(({ targetIndex }) => targetIndex).filter((other) => other !== target);
      const evident =
        scored && (await evidentTargets(query, sums, aligned, scored.scores, options, kernelOptions));
      queryRanks.push({
        queryLength: query.tokens.length,
        nearest: nearest.slice(0, NEAREST_COUNT).map(ranksOfTarget),
        evident: evident?.filter((other) => other !== target).map(ranksOfTarget),
      });
    }
  }
  onProgress?.({ stage: 'qualify', done: targets.length, total: targets.length });
  return queryRanks;
}

type Orders = Awaited<ReturnType<typeof bestOf>>;
/** Returns the best of all targets for one query, in both orders. */
type Best = (most: RescoreCounts) => Promise<Orders>;

/** Scans all targets with the prefilter: by the codebook if the engine has one, else by a few rows of each query. */
async function sweepAll(
  queries: readonly EncodedQuery[],
  { backend, store, release, codebook }: SearchEngine,
  options: KernelOptions,
): Promise<(query: number) => Best> {
  if (codebook !== undefined) {
    const sums = await lookUp(queries, undefined, { codebook, release }, options);
    return (query) => async (most) => ({
      nearest: await bestByCodebook(sums[query], undefined, most.nearestCount, release),
      local: [],
    });
  }
  const sampled = queries.map(({ tokens }) => sampleTokens(tokens, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, undefined, excessFloor(release), options);
  return (query) => (most) => bestOf(swept[query], undefined, sampled[query].length, most, release);
}

/** Ranks all targets in both sweeps, without the query itself. */
async function ranksOf(
  tokens: QueryTokens,
  bestOfAll: Best,
  self: number,
  { engine, counts, pool }: Measured,
  options: KernelOptions,
): Promise<(target: number) => PrefilterRanks> {
  const { release, backend, store, codebook } = engine;
  const left = await bestOfAll(withSelf(pool));
  const hits = ascending(left);
  const sampled = sampleTokens(tokens, codebook === undefined ? FINE_ROWS : COARSE_ROWS);
  const [swept] = await backend.sweep(store, [sampled], hits, excessFloor(release), options);
  const best = await bestOf(swept, hits, sampled.length, withSelf(counts), release);
  const [coarseRank, fineRank] = [rankIn(left, self), rankIn(best, self)];
  return (target) => ({ coarse: coarseRank(target), fine: fineRank(target) });
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

/** Aligns the query with the aligned targets. Returns undefined without a calibration. */
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

/** Returns the aligned targets with E ≤ EVIDENT_EXPECTED_FALSE_HITS. */
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
  const [referenceSums] = (await compareReferenceSet([tokens], calibration.referenceSet, engine, options))!;
  const judge = createJudge(
    { significance: 'if_available', targetSpace: unfilteredSpace(release) },
    [sequence],
    engine,
  );
  const judged = await judge(query, candidates, referenceSums, options);
  const limit = Math.log(EVIDENT_EXPECTED_FALSE_HITS);
  return judged.candidates
    .filter(({ significance }) => significance.kind === 'supported' && significance.logEValue <= limit)
    .map(({ targetIndex }) => targetIndex);
}
