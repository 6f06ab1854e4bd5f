import type { KernelOptions, MaxSimSums, PairMeasures, QueryTokens, SweptSums } from '../kernels/kernels.js';
import { affineParameters } from '../search/pairs/affine.js';
import { compareReferenceSet } from '../search/exhaustive.js';
import { ascending, bestOf, excessFloor, prefilterCountsOf } from '../search/prefiltered.js';
import { lookUp } from '../search/codebook.js';
import { maxsimDistances } from '../search/rank.js';
import { rank } from '../search/rank.js';
import type { Scored } from '../search/search-types.js';
import { COARSE_ROWS, FINE_ROWS, sampleTokens } from '../search/selection/sampling.js';
import type { EncodedQuery, RescoreCounts } from '../search/search-types.js';
import { createJudge } from '../search/significance.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { openTokenReader, type TokenReader } from '../release/rows/token-reader.js';
import { EVIDENT_EXPECTED_FALSE_HITS, type RescoreCandidates } from '../recall/policy-card.js';
import { rescoredInSteps, type IsRescored, type OwnQuery } from './rescored-in-steps.js';
import type { QualifyOptions } from './options.js';

/** Ranks of a target in the two orders of a sweep, from 1; Infinity if it is not among the measured ranks. */
interface OrderRanks {
  /** By bidirectional MaxSim similarity. */
  readonly byNearness: number;
  /** By excess, the measure of local matches. */
  readonly byExcess: number;
}

/** What the policies do with the relevant targets of one query. */
export interface RelevantTargets {
  readonly queryLength: number;
  /** The 100 nearest targets, nearest first. */
  readonly nearest: readonly IsRescored[];
  /** The aligned targets with E ≤ EVIDENT_EXPECTED_FALSE_HITS; undefined without a calibration. */
  readonly evident: readonly IsRescored[] | undefined;
}

/** Queries that share one pass over the tokens of the targets. */
const BATCH_QUERIES = 8;
const NEAREST_COUNT = 100;

type Measured = QualifyOptions & { readonly candidates: readonly RescoreCandidates[] };

/**
 * Searches the release with some of its own proteins, exhaustively and with the prefilter. Each query is left out of
 * its
 * own results. Queries use the stored tokens and profiles of the release, so that no homologs are searched for.
 * @param options  `candidates` are the counts for which it is asked whether a target is rescored
 * Shape   aligned [any number]
 * Unit    target indices
 * Range   0..targets of the release − 1; `aligned` ascends
 * Errors  Fault of kernels, encoder or token file; the signal's reason
 */
export async function measureRanks(
  targets: readonly number[],
  aligned: Uint32Array,
  options: Measured,
): Promise<readonly RelevantTargets[]> {
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
): Promise<readonly RelevantTargets[]> {
  const { engine, signal, onProgress } = options;
  const { release, backend, store, threads } = engine;
  const kernelOptions = { signal, threads };
  const relevant: RelevantTargets[] = [];
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
    const referenceSums = await compareReferenceSet(
      tokens,
      engine.calibration?.referenceSet,
      engine,
      kernelOptions,
    );
    const scanned = await scanAll(queries, options, kernelOptions);
    for (const [at, target] of batch.entries()) {
      const query = queries[at];
      const rescoredBy = await scanned(at)(
        { target, referenceSums: referenceSums?.[at] },
        options,
        kernelOptions,
      );
      const scored = await scoreAligned(query, aligned, options, kernelOptions);
      const sums = scored !== undefined && isMeasured ? scored : compared[at];
      const others = await rank({ sums, targets: undefined }, tokens[at].length, release, NEAREST_COUNT + 1);
      const nearest = others.map(({ targetIndex }) => targetIndex).filter((other) => other !== target);
      const evident =
        scored &&
        (await evidentTargets(
          query,
          sums,
          aligned,
          scored.scores,
          referenceSums![at],
          options,
          kernelOptions,
        ));
      relevant.push({
        queryLength: query.tokens.length,
        nearest: nearest.slice(0, NEAREST_COUNT).map(rescoredBy),
        evident: evident?.filter((other) => other !== target).map(rescoredBy),
      });
    }
  }
  onProgress?.({ stage: 'qualify', done: targets.length, total: targets.length });
  return relevant;
}

type Orders = Awaited<ReturnType<typeof bestOf>>;

/** Tells for each target by which policies it is rescored. The query itself is left out. */
type RescoredBy = (
  query: OwnQuery,
  options: Measured,
  kernelOptions: KernelOptions,
) => Promise<(target: number) => IsRescored>;

/** Scans all targets with the prefilter: by the codebook if the engine has one, else by a few rows of each query. */
async function scanAll(
  queries: readonly EncodedQuery[],
  { engine: { backend, store, release, codebook }, candidates }: Measured,
  options: KernelOptions,
): Promise<(query: number) => RescoredBy> {
  if (codebook !== undefined) {
    // Among the hits of a query is itself.
    const most = Math.max(...candidates.map(({ pool_count: count = 0 }) => count)) + 1;
    const hits = await lookUp(queries, undefined, most, { codebook, release }, options);
    return (query) =>
      (own, { candidates, engine }, kernelOptions) =>
        rescoredInSteps(queries[query], hits[query], own, candidates, engine, kernelOptions);
  }
  const sampled = queries.map(({ tokens }) => sampleTokens(tokens, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, undefined, excessFloor(release), options);
  return (query) => (own, measured, kernelOptions) =>
    rescoredByRank(queries[query].tokens, swept[query], own, measured, kernelOptions);
}

/** Ranks all targets in both sweeps of the sampled policy. */
async function rescoredByRank(
  tokens: QueryTokens,
  coarse: SweptSums,
  { target: self }: OwnQuery,
  { engine, candidates }: Measured,
  options: KernelOptions,
): Promise<(target: number) => IsRescored> {
  const { release, backend, store } = engine;
  const counts = candidates.map(rescoreCountsOf);
  const largest = {
    nearestCount: Math.max(...counts.map(({ nearestCount }) => nearestCount)),
    localCount: Math.max(...counts.map(({ localCount }) => localCount)),
  };
  const rowCount = Math.min(tokens.length, COARSE_ROWS);
  const left = await bestOf(coarse, undefined, rowCount, withSelf(prefilterCountsOf(largest)), release);
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
  referenceSums: MaxSimSums,
  { engine }: QualifyOptions,
  options: KernelOptions,
): Promise<readonly number[]> {
  const { release } = engine;
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
