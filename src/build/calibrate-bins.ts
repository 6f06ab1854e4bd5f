import { stratumOf } from '../calibration/calibration.js';
import type { BinCard, BinStatus } from '../calibration/card.js';
import { kolmogorovProbability } from '../calibration/kolmogorov.js';
import {
  fitExponential,
  fitTail,
  holdoutDistance,
  massBelow,
  type CeiledExcesses,
  type TailFit,
} from '../calibration/tail-model.js';
import type { NullFit } from './calibrate-null.js';
import { ROLE_FIT, type NullSample } from './calibrate-sample.js';

/** Share of a bin's pairs above its threshold; far enough out that the two tails of the mixture come apart. */
const EXCEEDANCE_SHARE = 0.02;
/** Excesses up to which a tail is fitted, in units of the coordinate; evident relatives lie above. */
const CEILING = 11;
/** The same for one exponential, in units of its own mean excess. */
const CAUTIOUS_CEILING = 3;
/** A mixture that holds more of the exceedances for relatives is not believed. */
const LARGEST_RELATIVE_SHARE = 0.4;
/** Fewer do not tell the two apart: of those of 4,000 SCOPe domains a fifth is held for relatives, of 500 none. */
const FEWEST_MIXTURE_EXCEEDANCES = 25_000;
const MAX_STRATA = 4;
/** Exceedances that a bin needs before the lengths are split more finely. */
const WANTED_EXCEEDANCES = 600;
const FEWEST_FIT_EXCEEDANCES = 50;
const FEWEST_HOLDOUT_EXCEEDANCES = 20;
/** A hold-out distance above this, beyond what chance gives a sample of its size, disqualifies a bin. */
const LARGEST_DISTANCE = 0.05;
/** 5 % of distances of a true model exceed this ÷ √count. Source: Kolmogorov's distribution. */
const CHANCE_DISTANCE = 1.36;
const BODY_POINTS = 40;

/** Edges of length strata of equal counts, as many as the sample supports. */
export function stratumEdges(sample: NullSample): readonly number[] {
  const exceedances = sample.pairCount * EXCEEDANCE_SHARE;
  const wanted = Math.floor(Math.sqrt(exceedances / WANTED_EXCEEDANCES));
  const strata = Math.min(MAX_STRATA, Math.max(1, wanted));
  const sorted = sample.lengths.slice().sort();
  const edges = Array.from(
    { length: strata - 1 },
    (_, edge) => sorted[Math.floor(((edge + 1) * sorted.length) / strata)],
  );
  // Where many proteins have one length, two edges can meet.
  return [...new Set(edges)].filter((edge) => edge > sorted[0]);
}

interface BinScores {
  /** Coordinates, ascending. */
  readonly all: Float64Array;
  readonly fitted: Float64Array;
  readonly heldOut: readonly HeldOutPair[];
}

export interface HeldOutPair {
  readonly score: number;
  readonly first: number;
  readonly second: number;
}

/** One bin for each unordered pair of strata, in order. */
export function fitBins(sample: NullSample, fit: NullFit, edges: readonly number[]): readonly BinCard[] {
  const strata = sample.lengths.map((length) => stratumOf(length, edges));
  const cells = Array.from({ length: (edges.length + 1) ** 2 }, () => ({
    all: [] as number[],
    fitted: [] as number[],
    heldOut: [] as HeldOutPair[],
  }));
  const cellOf = (a: number, b: number): number => Math.min(a, b) * (edges.length + 1) + Math.max(a, b);
  for (let pair = 0; pair < sample.pairCount; pair += 1) {
    if (fit.isConnected(pair)) continue;
    const [first, second] = [sample.firsts[pair], sample.seconds[pair]];
    const cell = cells[cellOf(strata[first], strata[second])];
    const score = fit.coordinates[pair];
    cell.all.push(score);
    if (sample.roles[first] !== sample.roles[second]) continue;
    if (sample.roles[first] === ROLE_FIT) cell.fitted.push(score);
    else cell.heldOut.push({ score, first, second });
  }
  const sorted = (scores: readonly number[]): Float64Array => Float64Array.from(scores).sort();
  const scores = cells.map(({ all, fitted, heldOut }) => ({
    all: sorted(all),
    fitted: sorted(fitted),
    heldOut,
  }));
  const tails = {
    all: fitPooled(scores.map(({ all }) => all)),
    fitted: fitPooled(scores.map(({ fitted }) => fitted)),
  };
  return scores.flatMap((bin, cell) => {
    const [query, target] = [Math.floor(cell / (edges.length + 1)), cell % (edges.length + 1)];
    return query > target ? [] : [fitBin(bin, tails, query, target, edges)];
  });
}

interface PooledTail {
  readonly tail: TailFit | undefined;
  readonly ceiling: number;
}

/**
 * The one tail of all bins: the coordinate is made so that they differ in where it begins and in nothing else, and a
 * bin alone has too few exceedances to tell unrelated pairs from relatives.
 *
 * It is the mixture where that can be told apart, else one exponential under a low ceiling: a sample that is small, or
 * mostly relatives, would pass unrelated pairs for relatives. Relatives are mostly of like length, so that the
 * exponential is fitted to the other bins, where there are any; what relatives are left make it err to large E-values.
 * @param bins  scores of each pair of strata, row by row, ascending; empty below the diagonal
 */
function fitPooled(bins: readonly Float64Array[]): PooledTail {
  const excesses = poolExcesses(bins, CEILING);
  const isEnough = excesses.excesses.length >= FEWEST_MIXTURE_EXCEEDANCES;
  const tail = isEnough ? fitTail(excesses) : undefined;
  if (tail !== undefined && tail.relativeShare <= LARGEST_RELATIVE_SHARE) return { tail, ceiling: CEILING };
  const unlike = unlikeLengths(bins);
  const sorted = poolExcesses(unlike, CEILING).excesses.sort();
  const ceiling = CAUTIOUS_CEILING * quantile(sorted, 1 - 1 / Math.E);
  return { tail: ceiling > 0 ? fitExponential(poolExcesses(unlike, ceiling)) : undefined, ceiling };
}

/** Bins of two different strata; all where there is but one. */
function unlikeLengths(bins: readonly Float64Array[]): readonly Float64Array[] {
  const strata = Math.sqrt(bins.length);
  return strata === 1 ? bins : bins.filter((_, cell) => cell % (strata + 1) !== 0);
}

/** Excesses of each bin over its own threshold. */
function poolExcesses(bins: readonly Float64Array[], ceiling: number): CeiledExcesses {
  const parts = bins.map((scores) => excessesOf(scores, thresholdOf(scores), ceiling).excesses);
  const excesses = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    excesses.set(part, start);
    start += part.length;
  }
  return { excesses, ceiling };
}

/**
 * A bin is judged by how well the tail of the fitted proteins meets its held-out ones; what it answers with is then
 * fitted to all of them.
 * @param scores  of all pairs, of pairs of fitted and of pairs of held-out proteins; ascending
 */
function fitBin(
  scores: BinScores,
  tails: { readonly all: PooledTail; readonly fitted: PooledTail },
  query: number,
  target: number,
  edges: readonly number[],
): BinCard {
  const { distance, holdoutCount, independentCount } = qualify(scores, tails.fitted);
  const { all } = scores;
  const threshold = thresholdOf(all);
  const { tail, ceiling } = tails.all;
  const fitCount = excessesOf(all, threshold, ceiling).excesses.length;
  // Of the exceedances below the ceiling some are relatives; of the unrelated ones a few lie above it.
  const share =
    tail === undefined
      ? EXCEEDANCE_SHARE
      : ((1 - tail.relativeShare) * fitCount) / (all.length * massBelow(tail, ceiling));
  return {
    name: `${stratumName(query, edges)} × ${stratumName(target, edges)}`,
    query_stratum: query,
    target_stratum: target,
    status: judgeBin(
      { fit: fitCount, holdout: holdoutCount, independent: independentCount },
      tail === undefined,
      distance,
    ),
    pair_count: all.length,
    fit_exceedance_count: fitCount,
    holdout_exceedance_count: holdoutCount,
    holdout_kolmogorov_smirnov: distance,
    holdout_independent_count: independentCount,
    holdout_significance_level: kolmogorovProbability(distance, independentCount),
    ceiling: threshold + ceiling,
    relative_share: tail?.relativeShare ?? 0,
    tail: {
      threshold,
      log_exceedance_probability: Math.log(share),
      lambda: tail?.lambda ?? 1,
      shape: tail?.shape ?? 0,
    },
    body: bodyOf(all, threshold, Math.log(share)),
    observed: observedOf(all),
    largest_score: all.length === 0 ? 0 : all[all.length - 1],
  };
}

/** Distance between the tail of the fitted proteins and the exceedances of the held-out ones; 1 where there is none. */
function qualify(
  { fitted, heldOut }: BinScores,
  { tail, ceiling }: PooledTail,
): { distance: number; holdoutCount: number; independentCount: number } {
  const threshold = thresholdOf(fitted);
  const exceedances = heldOut.filter(({ score }) => score >= threshold && score - threshold <= ceiling);
  const excesses = Float64Array.from(exceedances, ({ score }) => score - threshold);
  return {
    distance: tail === undefined ? 1 : holdoutDistance(tail, { excesses, ceiling }),
    holdoutCount: exceedances.length,
    independentCount: independentCountOf(exceedances),
  };
}

/**
 * What the exceedances count for by chance. A protein that is close to everything has many of them, and they rise and
 * fall together: no more than the number of proteins that would share them evenly.
 * Source  effective sample size (Kish 1965), each pair counted for both of its proteins
 */
export function independentCountOf(exceedances: readonly HeldOutPair[]): number {
  const counts = new Map<number, number>();
  for (const { first, second } of exceedances) {
    for (const protein of [first, second]) counts.set(protein, (counts.get(protein) ?? 0) + 1);
  }
  let squares = 0;
  for (const count of counts.values()) squares += count * count;
  return squares === 0
    ? 0
    : Math.min(exceedances.length, Math.round((2 * exceedances.length) ** 2 / squares));
}

function judgeBin(
  counts: { readonly fit: number; readonly holdout: number; readonly independent: number },
  isWithoutTail: boolean,
  distance: number,
): BinStatus {
  if (counts.fit < FEWEST_FIT_EXCEEDANCES || counts.holdout < FEWEST_HOLDOUT_EXCEEDANCES) {
    return 'too_few_exceedances';
  }
  const limit = LARGEST_DISTANCE + CHANCE_DISTANCE / Math.sqrt(counts.independent);
  return isWithoutTail || distance > limit ? 'bin_not_qualified' : 'qualified';
}

function thresholdOf(scores: Float64Array): number {
  return quantile(scores, 1 - EXCEEDANCE_SHARE);
}

function excessesOf(scores: Float64Array, threshold: number, ceiling: number): CeiledExcesses {
  const excesses = scores
    .map((score) => score - threshold)
    .filter((excess) => excess >= 0 && excess <= ceiling);
  return { excesses, ceiling };
}

/**
 * ln P(score ≥ x) at shares of the sample that fall evenly in the logarithm, from all of it to the threshold, where
 * the share of relatives has come off.
 */
function bodyOf(scores: Float64Array, threshold: number, logShare: number): BinCard['body'] {
  const points: { score: number; log_probability: number }[] = [];
  for (let step = 0; step < BODY_POINTS; step += 1) {
    const portion = step / BODY_POINTS;
    const score = quantile(scores, -Math.expm1(portion * Math.log(EXCEEDANCE_SHARE)));
    if (points.length > 0 && score <= points[points.length - 1].score) continue;
    if (score < threshold) points.push({ score, log_probability: portion * logShare });
  }
  return [...points, { score: threshold, log_probability: logShare }];
}

/** The empirical distribution at points that fall evenly in the logarithm, down to single pairs. */
function observedOf(scores: Float64Array): BinCard['observed'] {
  if (scores.length === 0) return [];
  const last = -Math.log(scores.length);
  return Array.from({ length: BODY_POINTS + 1 }, (_, step) => {
    const logProbability = (step / BODY_POINTS) * last;
    const rank = Math.max(1, Math.round(scores.length * Math.exp(logProbability)));
    return { score: scores[scores.length - rank], log_probability: Math.log(rank / scores.length) };
  });
}

/** The value below which a share of the ascending sample lies; 0 for an empty one. */
function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function stratumName(stratum: number, edges: readonly number[]): string {
  const low = stratum === 0 ? undefined : edges[stratum - 1];
  const high = stratum === edges.length ? undefined : edges[stratum] - 1;
  if (low === undefined) return high === undefined ? 'any length' : `to ${high}`;
  return high === undefined ? `${low} and more` : `${low} to ${high}`;
}
