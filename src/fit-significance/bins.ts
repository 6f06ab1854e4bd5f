import { stratumOf } from '../significance/calibration.js';
import type { BinCard, BinStatus } from '../significance/card.js';
import { kolmogorovProbability } from '../significance/kolmogorov.js';
import { holdoutDistance, massBelow } from '../significance/tail-model.js';
import type { NullFit } from './null.js';
import { ROLE_FIT, type NullSample } from './sample.js';
import {
  EXCEEDANCE_SHARE,
  FEWEST_FIT_EXCEEDANCES,
  excessesOf,
  familyTail,
  fitPooled,
  quantile,
  thresholdOf,
  type BinCoordinates,
  type PooledTail,
} from './tail.js';

const MAX_STRATA = 4;
/** Exceedances that a bin needs before the lengths are split more finely. */
const WANTED_EXCEEDANCES = 600;
const FEWEST_HOLDOUT_EXCEEDANCES = 20;
/** A hold-out distance above this, beyond what chance gives a sample of its size, disqualifies a bin. */
const LARGEST_DISTANCE = 0.05;
/** 5 % of distances of a true model exceed this ÷ √count. Source: Kolmogorov's distribution. */
const CHANCE_DISTANCE = 1.36;
const BODY_POINTS = 40;

/** Bins between strata of length, and what they are judged by. */
export interface StratifiedBins {
  readonly edges: readonly number[];
  readonly bins: readonly BinCard[];
}

/**
 * Bins of as many strata as the sample supports; of fewer where a small one misses what qualifies it and those of fewer
 * do not: its pairs would have no E-values at all. A sample of 4,000 SCOPe domains with relatives lost those of its
 * shortest proteins so, by a distance of .166 where .163 is allowed; of another seed it is .114.
 * @param decoys  coordinates of each reversed protein with the whole sample; none where the sample is large
 */
export function fitStrata(sample: NullSample, fit: NullFit, decoys: readonly Float64Array[]): StratifiedBins {
  const fitted = (strata: number): StratifiedBins => {
    const edges = stratumEdges(sample, strata);
    return { edges, bins: fitBins(sample, fit, edges, decoys) };
  };
  const supported = strataCount(sample);
  const finest = fitted(supported);
  let tried = finest;
  for (let strata = supported - 1; strata > 0 && !areQualified(tried); strata -= 1) tried = fitted(strata);
  return areQualified(tried) ? tried : finest;
}

function areQualified({ bins }: StratifiedBins): boolean {
  return bins.every(({ status }) => status === 'qualified');
}

function strataCount({ pairCount }: NullSample): number {
  const wanted = Math.floor(Math.sqrt((pairCount * EXCEEDANCE_SHARE) / WANTED_EXCEEDANCES));
  return Math.min(MAX_STRATA, Math.max(1, wanted));
}

/** Edges of length strata of equal counts. */
function stratumEdges(sample: NullSample, strata: number): readonly number[] {
  const sorted = sample.lengths.slice().sort();
  const edges = Array.from(
    { length: strata - 1 },
    (_, edge) => sorted[Math.floor(((edge + 1) * sorted.length) / strata)],
  );
  // Where many proteins have one length, two edges can meet.
  return [...new Set(edges)].filter((edge) => edge > sorted[0]);
}

interface BinScores {
  /** Coordinates, ascending; decoys are of any protein here, of fitted ones there. */
  readonly all: BinCoordinates;
  readonly fitted: BinCoordinates;
  readonly heldOut: readonly HeldOutPair[];
}

export interface HeldOutPair {
  readonly score: number;
  readonly first: number;
  readonly second: number;
}

/** One bin for each unordered pair of strata, in order. */
function fitBins(
  sample: NullSample,
  fit: NullFit,
  edges: readonly number[],
  decoys: readonly Float64Array[],
): readonly BinCard[] {
  const scores = collectScores(sample, fit, edges, decoys);
  const all = fitPooled(scores.map((bin) => bin.all));
  const tails = {
    // What searches of families find differs from the sample, by which a bin is judged all the same.
    all: sample.hasProfiles ? familyTail(all) : all,
    fitted: fitPooled(scores.map((bin) => bin.fitted)),
  };
  return scores.flatMap((bin, cell) => {
    const [query, target] = [Math.floor(cell / (edges.length + 1)), cell % (edges.length + 1)];
    return query > target ? [] : [fitBin(bin, tails, query, target, edges)];
  });
}

/** Coordinates of all pairs that are not connected, and of decoys of proteins that are not, by pair of strata. */
function collectScores(
  sample: NullSample,
  { coordinates, isConnected, areConnected }: NullFit,
  edges: readonly number[],
  decoys: readonly Float64Array[],
): readonly BinScores[] {
  const strata = sample.lengths.map((length) => stratumOf(length, edges));
  const cells = Array.from({ length: (edges.length + 1) ** 2 }, () => ({
    all: { pairs: [] as number[], decoys: [] as number[] },
    fitted: { pairs: [] as number[], decoys: [] as number[] },
    heldOut: [] as HeldOutPair[],
  }));
  const cellOf = (a: number, b: number): (typeof cells)[number] =>
    cells[Math.min(strata[a], strata[b]) * (edges.length + 1) + Math.max(strata[a], strata[b])];
  const isFitted = (a: number, b: number): boolean =>
    sample.roles[a] === ROLE_FIT && sample.roles[b] === ROLE_FIT;
  for (let pair = 0; pair < sample.pairCount; pair += 1) {
    if (isConnected(pair)) continue;
    const [first, second] = [sample.firsts[pair], sample.seconds[pair]];
    const cell = cellOf(first, second);
    const score = coordinates[pair];
    cell.all.pairs.push(score);
    if (isFitted(first, second)) cell.fitted.pairs.push(score);
    else if (sample.roles[first] === sample.roles[second]) cell.heldOut.push({ score, first, second });
  }
  decoys.forEach((row, first) => {
    row.forEach((score, second) => {
      if (areConnected(first, second)) return;
      const cell = cellOf(first, second);
      cell.all.decoys.push(score);
      if (isFitted(first, second)) cell.fitted.decoys.push(score);
    });
  });
  const sorted = (part: { readonly pairs: number[]; readonly decoys: number[] }): BinCoordinates => ({
    pairs: Float64Array.from(part.pairs).sort(),
    decoys: Float64Array.from(part.decoys).sort(),
  });
  return cells.map(({ all, fitted, heldOut }) => ({ all: sorted(all), fitted: sorted(fitted), heldOut }));
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
  const all = scores.all.pairs;
  const threshold = thresholdOf(all);
  const { tail, ceiling, foundShare = 1 } = tails.all;
  const fitCount = excessesOf(all, threshold, ceiling).excesses.length;
  // Of the exceedances below the ceiling some are relatives; of the unrelated ones a few lie above it.
  const share =
    tail === undefined
      ? EXCEEDANCE_SHARE
      : (foundShare * (1 - tail.homologShare) * fitCount) / (all.length * massBelow(tail, ceiling));
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
    relative_share: tail?.homologShare ?? 0,
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
  const threshold = thresholdOf(fitted.pairs);
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

function stratumName(stratum: number, edges: readonly number[]): string {
  const low = stratum === 0 ? undefined : edges[stratum - 1];
  const high = stratum === edges.length ? undefined : edges[stratum] - 1;
  if (low === undefined) return high === undefined ? 'any length' : `to ${high}`;
  return high === undefined ? `${low} and more` : `${low} to ${high}`;
}
