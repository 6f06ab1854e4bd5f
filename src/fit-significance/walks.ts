import { Refusal } from '../errors.js';
import { neighboursId } from '../neighbours/card.js';
import type { Neighbours } from '../neighbours/sidecar.js';
import { WALKS_FORMAT, type WalksCard } from '../propagation/card.js';
import { walkScore } from '../propagation/null.js';
import { walkHits } from '../propagation/hits.js';
import { createWalk } from '../propagation/walk.js';
import { WALK_PARAMETERS, type WalkParameters } from '../propagation/weights.js';
import { sampleDistinct, seededRandom } from '../random.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { batchEnd, largestBatchSize } from '../search/batches.js';
import { searchMany } from '../search/search.js';
import type { SearchEngine, SearchResult } from '../search/search-types.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { reversed } from '../significance/control.js';
import { fitUnmixed, holdoutDistance, type TailFit } from '../significance/tail-model.js';

/*
 * Null of walks over a graph of neighbours. Reversed proteins of the release are searched, and their hits walk. A
 * reversed protein has no homologs, so that every target that its walk reaches is unrelated to it.
 *
 * Walks of natural proteins are no null, because they reach homologs that no link connects. Among 2,048 SCOPe domains,
 * 1,950 of the best 2,048 such targets were homologs or of the same fold.
 */

/** Reversed proteins. */
export const REVERSED_COUNT = 1_000;
/** Hits of a reversed protein among its nearest targets. */
const CANDIDATES = 1_000;
/** Unrelated targets above the threshold of the tail, of each walk. Fewer if the walks reach fewer. */
const EXCEEDANCES_PER_WALK = 10;
const FEWEST_EXCEEDANCES = 50;
/** Every fourth reversed protein judges the tail of the others. */
const HOLDOUT_STRIDE = 4;
/** The tail is supported down to the probability that so many of the pairs exceed. */
const SUPPORTING_PAIRS = 10;

/*
 * Natural proteins reach more unrelated targets than reversed ones, because chance hits of their homologs lead further.
 * Without a correction, the tuned half of the labelled domains reaches some four times the claimed ones
 * (bench/propagation). With it they are .8, .8, 1.4 and 1.3 times at E = 10, 1, .1 and .01. A power of the E-value
 * corrects the ratio at every E: E' = factor · E^power.
 */
const COMPANY_FACTOR = 4;
const COMPANY_POWER = 1.03;

export interface WalksOptions {
  readonly engine: SearchEngine;
  readonly neighbours: Neighbours;
  readonly parameters?: WalkParameters;
  /** Default: 1. */
  readonly seed?: number;
  /** Default: REVERSED_COUNT. */
  readonly reversedCount?: number;
  readonly signal?: AbortSignal;
  /** Called with the number of finished walks. */
  readonly onWalks?: (done: number) => void;
}

/**
 * Fits the null of walks over the graph of a release.
 * Errors  Refusal `calibration_impossible` if too few targets are reached; those of searchMany
 */
export async function fitWalks(options: WalksOptions): Promise<WalksCard> {
  const { engine, neighbours, parameters = WALK_PARAMETERS, seed = 1 } = options;
  const { release } = engine;
  const walk = createWalk(neighbours.graph, parameters);
  const scores: Float64Array[] = [];
  for await (const results of searchReversed(options, seed)) {
    for (const result of results) {
      const reached = walk(walkHits(result.candidates));
      scores.push(Float64Array.from(reached, ({ mass }) => walkScore(mass)));
    }
    options.onWalks?.(scores.length);
  }
  const fit = fitScores(scores, release.targets.count);
  if (fit === undefined) {
    throw new Refusal(
      'calibration_impossible',
      `Walks of ${scores.length} reversed proteins over the graph of ${release.id} reach too few targets for a null.`,
      { targets: release.targets.count },
    );
  }
  return {
    format: WALKS_FORMAT,
    release_id: release.id,
    graph_id: neighboursId(neighbours.card),
    parameters,
    seed,
    reversed_count: scores.length,
    ...fit,
    tail: inCompany(fit.tail, release.targets.count),
  };
}

/** Searches a sample of the release's proteins, reversed and without homologs, in batches. */
async function* searchReversed(
  { engine, reversedCount = REVERSED_COUNT, signal }: WalksOptions,
  seed: number,
): AsyncGenerator<readonly SearchResult[]> {
  const { targets } = engine.release;
  const sample = sampleDistinct(targets.count, reversedCount, seededRandom(seed));
  const queries = Array.from(sample, (target) => ({
    sequence: reversed(targets.sequence(target)),
    normalizationId: NORMALIZATION_ID,
  }));
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: Math.min(CANDIDATES, targets.count),
    evidence: 'pairwise_sequence_alignment',
    guarantee: 'approximate',
    significance: 'if_available',
    relatives: 'none',
    alignedMaxEValue: WALK_PARAMETERS.largest_evalue,
  } as const;
  for (let start = 0; start < queries.length;) {
    const end = batchEnd(queries, start, largestBatchSize(settings), ({ sequence }) => sequence.length);
    yield await searchMany(queries.slice(start, end), settings, engine, signal);
    start = end;
  }
}

type FittedTail = Pick<
  WalksCard,
  'pair_count' | 'exceedance_count' | 'tail' | 'least_log_probability' | 'holdout_distance'
>;

/**
 * Fits the tail to the best scores of all walks.
 * Shape   scores [walks][targets that the walk reaches]
 * Unit    ln of mass ÷ MASS_ONE
 * Range   at most the logarithm of the largest mass
 * Errors  returns undefined if fewer than FEWEST_EXCEEDANCES targets are reached, or if their scores do not fall
 */
export function fitScores(scores: readonly Float64Array[], targetCount: number): FittedTail | undefined {
  const wanted = EXCEEDANCES_PER_WALK * scores.length;
  const all = Float64Array.from(scores.flatMap((walk) => [...walk])).sort((a, b) => b - a);
  const count = Math.min(wanted, all.length - 1);
  if (count < FEWEST_EXCEEDANCES) return undefined;
  const threshold = all[count];
  const fit = fitAbove(scores, threshold);
  if (fit === undefined) return undefined;
  const isHeldOut = (walk: number): boolean => walk % HOLDOUT_STRIDE === 0;
  const others = fitAbove(
    scores.filter((_, walk) => !isHeldOut(walk)),
    threshold,
  );
  const heldOut = excessesOf(
    scores.filter((_, walk) => isHeldOut(walk)),
    threshold,
  );
  const pairCount = scores.length * targetCount;
  return {
    pair_count: pairCount,
    exceedance_count: count,
    tail: {
      threshold,
      log_exceedance_probability: Math.log(count / pairCount),
      lambda: fit.lambda,
      shape: fit.shape,
    },
    least_log_probability: Math.log(SUPPORTING_PAIRS / pairCount),
    holdout_distance: others === undefined ? 1 : holdoutDistance(others, heldOut),
  };
}

/**
 * Corrects a tail of reversed proteins for natural ones: E' = COMPANY_FACTOR · E^COMPANY_POWER. A power of a
 * generalised Pareto tail is one, too.
 * Unit    that of the tail
 */
export function inCompany(tail: FittedTail['tail'], targetCount: number): FittedTail['tail'] {
  const logEValue = Math.log(targetCount) + tail.log_exceedance_probability;
  return {
    threshold: tail.threshold,
    log_exceedance_probability: Math.log(COMPANY_FACTOR / targetCount) + COMPANY_POWER * logEValue,
    lambda: COMPANY_POWER * tail.lambda,
    shape: tail.shape / COMPANY_POWER,
  };
}

function fitAbove(scores: readonly Float64Array[], threshold: number): TailFit | undefined {
  return fitUnmixed(excessesOf(scores, threshold));
}

function excessesOf(scores: readonly Float64Array[], threshold: number) {
  const excesses = Float64Array.from(
    scores.flatMap((walk) => Array.from(walk, (score) => score - threshold).filter((excess) => excess > 0)),
  );
  return { excesses, ceiling: excesses.reduce((most, excess) => Math.max(most, excess), 0) };
}
