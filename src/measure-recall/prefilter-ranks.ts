import { CODED_QUERIES } from '../kernels/codebook.js';
import type { KernelOptions, MaxSimSums } from '../kernels/kernels.js';
import { compareReferenceSet } from '../search/exhaustive.js';
import { excessFloor, measureTargets, type Measured } from '../search/prefiltered.js';
import { lookUp } from '../search/codebook.js';
import { maxsimDistances, rank } from '../search/rank.js';
import { COARSE_ROWS, sampleTokens } from '../search/selection/sampling.js';
import type { EncodedQuery, Scored, SearchEngine } from '../search/search-types.js';
import { createJudge } from '../search/significance.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { openTokenReader, type TokenReader } from '../release/rows/token-reader.js';
import { EVIDENT_EXPECTED_FALSE_HITS, type RescoreCandidates } from '../recall/policy-card.js';
import { seededRandom } from '../random.js';
import { comparedTargets } from './compared-targets.js';
import { mergedOrder, ordersOfSweep, rescoredByRank } from './rescored-by-rank.js';
import { orderOfHits, rescoredInSteps, type IsRescored } from './rescored-in-steps.js';
import type { QualifyOptions } from './options.js';

/** A target that a policy should retrieve. */
export interface Relevant {
  readonly isRescored: IsRescored;
  /** Number of targets that it stands for (`ComparedTargets`). */
  readonly weight: number;
}

/** What the policies do with the relevant targets of one query. */
export interface RelevantTargets {
  readonly queryLength: number;
  /** Number of targets that the query was compared with. */
  readonly comparedCount: number;
  /** The 100 nearest of the compared targets, nearest first. */
  readonly nearest: readonly Relevant[];
  /** The compared targets with E ≤ EVIDENT_EXPECTED_FALSE_HITS; undefined without a calibration. */
  readonly evident: readonly Relevant[] | undefined;
}

const NEAREST_COUNT = 100;

type Measuring = QualifyOptions & {
  readonly candidates: readonly RescoreCandidates[];
  readonly seed: number;
};

/** The first step of a policy for one query. */
interface FirstStep {
  /** All targets except for the query, best first. */
  readonly order: Uint32Array;
  /** Returns by which policies a target is rescored. */
  readonly rescoredBy: (compared: Compared) => Promise<(target: number) => IsRescored>;
}

/** Full comparison of one query with some targets. Affine scores are 0 without a calibration. */
interface Compared {
  readonly measured: Measured;
  readonly referenceSums: MaxSimSums | undefined;
}

/**
 * Searches the release with some of its own proteins, with the prefilter and in full. The full comparison is with
 * `comparedTargets`. Each query is left out of its own results. Queries use the stored tokens and profiles of the
 * release, so that no homologs are searched for.
 * @param options  `candidates` are the counts for which it is asked whether a target is rescored
 * Shape   targets [any number]
 * Unit    target indices
 * Range   0..targets of the release − 1
 * Errors  Fault of kernels, encoder or token file; the signal's reason
 */
export async function measureRanks(
  targets: readonly number[],
  options: Measuring,
): Promise<readonly RelevantTargets[]> {
  const reader = await openTokenReader(options.engine.release);
  try {
    return await measureAll(targets, options, reader);
  } finally {
    await reader.close();
  }
}

async function measureAll(
  targets: readonly number[],
  options: Measuring,
  reader: TokenReader,
): Promise<readonly RelevantTargets[]> {
  const { engine, signal, onProgress } = options;
  const { release, threads } = engine;
  const kernelOptions = { signal, threads };
  const relevant: RelevantTargets[] = [];
  for (let start = 0; start < targets.length; start += CODED_QUERIES) {
    onProgress?.({ stage: 'qualify', done: start, total: targets.length });
    const batch = targets.slice(start, start + CODED_QUERIES);
    const tokens = await Promise.all(batch.map((target) => reader.read(target)));
    const queries = batch.map((target, at) => ({
      target,
      sequence: release.targets.sequence(target),
      normalizationId: '',
      tokens: tokens[at],
    }));
    const referenceSums = await compareReferenceSet(
      tokens,
      engine.calibration?.referenceSet,
      engine,
      kernelOptions,
    );
    const firstStepOf = await takeFirstStep(queries, options, kernelOptions);
    for (const [at, query] of queries.entries()) {
      const firstStep = await firstStepOf(at);
      relevant.push(await relevantTargets(query, firstStep, referenceSums?.[at], options, kernelOptions));
    }
  }
  onProgress?.({ stage: 'qualify', done: targets.length, total: targets.length });
  return relevant;
}

/** A query that is a protein of the release. */
type OwnQuery = EncodedQuery & { readonly target: number };

async function relevantTargets(
  query: OwnQuery,
  { order, rescoredBy }: FirstStep,
  referenceSums: MaxSimSums | undefined,
  { engine, seed }: Measuring,
  options: KernelOptions,
): Promise<RelevantTargets> {
  const { target, tokens } = query;
  // A seed of its own for each query: what is drawn does not depend on the other queries.
  const { targets, weights } = comparedTargets(order, seededRandom(seed + target));
  const measured = await compare(query, targets, engine, options);
  const isRescoredOf = await rescoredBy({ measured, referenceSums });
  const relevant = (one: { readonly targetIndex: number }): Relevant => ({
    isRescored: isRescoredOf(one.targetIndex),
    weight: weights.get(one.targetIndex)!,
  });
  const nearest = await rank(measured, tokens.length, engine.release, NEAREST_COUNT);
  const evident = referenceSums && (await evidentTargets(query, measured, referenceSums, engine, options));
  return {
    queryLength: tokens.length,
    comparedCount: targets.length,
    nearest: nearest.map(relevant),
    evident: evident?.map(relevant),
  };
}

/** Takes the first step of the policy: by the codebook if the engine has one, else by a few rows of each query. */
async function takeFirstStep(
  queries: readonly OwnQuery[],
  { engine, candidates }: Measuring,
  options: KernelOptions,
): Promise<(query: number) => Promise<FirstStep>> {
  const { backend, store, release, codebook } = engine;
  if (codebook !== undefined) {
    const found = await lookUp(queries, undefined, release.targets.count, { codebook, release }, options);
    return (at) => {
      const query = queries[at];
      const order = orderOfHits(found[at], query.target, release.targets.count);
      return Promise.resolve({
        order,
        rescoredBy: (compared) =>
          rescoredInSteps(
            query,
            { ...compared, hits: found[at], self: query.target },
            candidates,
            engine,
            options,
          ),
      });
    };
  }
  const sampled = queries.map(({ tokens }) => sampleTokens(tokens, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, undefined, excessFloor(release), options);
  return async (at) => {
    const query = queries[at];
    const orders = await ordersOfSweep(query, swept[at], engine);
    return {
      order: mergedOrder(orders, query.target),
      rescoredBy: () => rescoredByRank(query, orders, query.target, candidates, engine, options),
    };
  };
}

/** Compares a query with some targets in full. Without a calibration, nothing is aligned. */
async function compare(
  query: EncodedQuery,
  targets: Uint32Array,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<Measured> {
  if (engine.calibration !== undefined) return measureTargets(query, targets, engine, options);
  const { backend, store } = engine;
  const [sums] = await backend.maxsim(store, [query.tokens], targets, options);
  return { targets, sums, affineScores: new Int32Array(targets.length) };
}

/** Returns the compared targets with E ≤ EVIDENT_EXPECTED_FALSE_HITS. */
async function evidentTargets(
  query: EncodedQuery,
  { targets, sums, affineScores }: Measured,
  referenceSums: MaxSimSums,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Scored[]> {
  const { release } = engine;
  const { sequence, tokens } = query;
  const candidates = Array.from(targets, (target, at): Scored => {
    const ofTarget = { queryToTarget: sums.queryToTarget[at], targetToQuery: sums.targetToQuery[at] };
    const length = release.targets.length(target);
    return {
      rank: at + 1,
      targetIndex: target,
      queryToTargetSum: ofTarget.queryToTarget,
      targetToQuerySum: ofTarget.targetToQuery,
      maxsim: maxsimDistances(ofTarget, tokens.length, length, release.manifest.encoder.inverse_step),
      affine: { rawScore: affineScores[at], normalizedScore: 0 },
    };
  });
  const judge = createJudge(
    { significance: 'if_available', targetSpace: unfilteredSpace(release) },
    [sequence],
    engine,
  );
  const judged = await judge(query, candidates, referenceSums, options);
  const limit = Math.log(EVIDENT_EXPECTED_FALSE_HITS);
  return judged.candidates.filter(
    ({ significance }) => significance.kind === 'supported' && significance.logEValue <= limit,
  );
}
