import {
  HUBNESS_COMPONENT_COUNT,
  LENGTH_SLOPE,
  MOMENT_SLOPES,
  MOST_TERMS,
  MOMENT_TERMS,
  nullTermCount,
  expectedOf,
  profileEvidence,
  nullTerms,
  rateSlope,
  slopeTerms,
  type CovariateScale,
  type CysteineWeight,
  type NullScales,
  type PairNull,
  type RateModel,
  type ShapeScales,
} from '../significance/pair-null.js';
import { sampleDistinct, type Random } from '../random.js';
import { USUAL_CYSTEINE_SHARE } from '../significance/cysteines.js';
import { maximise } from '../significance/tail-model.js';
import type { HubnessSample } from './hubness.js';
import type { NullSample } from './sample.js';
import { fitQuantile } from './statistics/linear-quantile.js';
import { isSmallSample } from './tail.js';

/** Share of pairs above the quantile regression, which defines tail coordinate 0. */
export const EXCEEDANCE_SHARE = 0.03;
/** Ceiling of the scale fit. Unit: mean excesses. Above it homologs have too much weight. */
const SCALE_CEILING_EXCESSES = 3.5;

/** Upper bound of the pairs in the regression. More pairs would not change its weights. */
const REGRESSION_PAIRS = 200_000;
/** Upper bound of the pairs in the fit of the rate. About 3 % of them are exceedances. */
const RATE_PAIRS = 1_000_000;
/** With fewer fitted pairs the weights of the regression would be noise. */
export const FEWEST_PAIRS = 1_000;
/**
 * Shrinkage of the weights and slopes of the token moments. Homologs, too, have a high mean cosine and spread, so that
 * full weights would lower their scores by more than the null improves. The same holds for the slopes if they make the
 * tail fall more slowly. If they make it fall faster, no homologs are lost, and the full slopes are used. Pairs of a
 * membrane protein with others have half the mean excess; with .58 both ways, their observed hits were a third of the
 * claimed ones. With these shares E-values are accurate in all structural classes. Releases with profiles and small
 * samples have one share for both. The slopes of a small sample are half noise: among 308 simulated proteins, a family
 * of nine lost its members to them.
 */
const MOMENT_WEIGHT_SHARE = 0.92;
const UNEVEN_SHARES = { faster: 1, slower: 0.4 };
const EVEN_SHARES = { faster: 0.58, slower: 0.58 };
/**
 * Share of the slope over promiscuity. A full slope makes the tail of all other pairs fall so fast that short proteins
 * find four times the hits claimed at E = .1.
 */
const PROMISCUITY_SLOPE_SHARE = 0.4;
/**
 * Fixed slope of the log shorter length, and the factor on it below the mean length. Far out, the tail of short
 * proteins falls more slowly than that of long ones. Near the threshold, pairs of unequal length fall faster, so that a
 * fitted slope would be wrong far out. Reversed proteins of 600 residues and more find three times the claimed hits if
 * the slope above the mean is −.05, and ten times if it is steeper. Lengths of a small sample differ less.
 */
const LENGTH_SLOPE_FORM = { lengthSlope: -0.02, shortFactor: 6 };
const SMALL_LENGTH_SLOPE_FORM = { lengthSlope: -0.05, shortFactor: 1 };
/** Profile covariates are clipped to this many standard deviations. Only a few unusual homolog sets lie beyond. */
const PROFILE_SPREADS = 5;
/**
 * Weights of the cysteine excess. It is 0 for most pairs and the pairs with most of it are few and often homologs, so
 * that a fit to a sample would be noise. They are chosen on domains of unseen folds: without a weight, queries of more
 * than 12 % cysteines find 2 to 9 times the claimed hits, and up to 94 times with profiles. In profiles, conserved
 * cysteines align well from a share of .03 on.
 */
const CYSTEINES: CysteineWeight = { weight: 0.75, usualShare: USUAL_CYSTEINE_SHARE };
const PROFILED_CYSTEINES: CysteineWeight = { weight: 3, usualShare: 0.02 };
const SLOPE_LIMIT = 1;
const SEARCH_STEPS = 30;
const RATE_SWEEPS = 4;

/**
 * Fits the null model to the fitted pairs that are not left out: a quantile regression for the threshold, then the mean
 * excess over it.
 * Errors  returns undefined if there are too few pairs, or if their scores do not vary
 */
export function fitPairNull(
  sample: HubnessSample,
  shape: ShapeScales,
  isLeftOut: (pair: number) => boolean,
  random: Random,
): PairNull | undefined {
  const usable = sample.fitPairs.filter((pair) => !isLeftOut(pair));
  if (usable.length < FEWEST_PAIRS) return undefined;
  const chosen = sampleDistinct(usable.length, REGRESSION_PAIRS, random).map((index) => usable[index]);
  const hubnessComponents = hubnessComponentProducts(sample, chosen).map(scaleOf);
  const scales: NullScales = {
    shape,
    hubness: scaleOf(Float64Array.from(sample.hubnesses, ({ hubness }) => hubness)),
    hubnessComponents,
    promiscuity: hasPromiscuity(sample)
      ? scaleOf(Float64Array.from(chosen, (pair) => sample.pairAt(pair).promiscuity))
      : undefined,
  };
  const termCount = nullTermCount(scales);
  const terms = new Float64Array(chosen.length * termCount);
  const evidence = new Float64Array(chosen.length);
  chosen.forEach((pair, row) => {
    nullTerms(sample.pairAt(pair), scales, terms, row * termCount);
    evidence[row] = sample.evidence[pair];
  });
  const weights = Array.from(fitQuantile(terms, evidence, termCount, 1 - EXCEEDANCE_SHARE));
  if (!weights.every(Number.isFinite)) return undefined;
  for (const term of MOMENT_TERMS) weights[term] *= MOMENT_WEIGHT_SHARE;
  weights[0] += exceededExcess(terms, evidence, weights);
  const ratePairs = sampleDistinct(usable.length, RATE_PAIRS, random).map((index) => usable[index]);
  const isSmall = isSmallSample(sample.pairCount);
  const isEven = sample.hasProfiles || isSmall;
  const shares = isEven ? EVEN_SHARES : UNEVEN_SHARES;
  const slopeCount = slopeTerms(scales).length;
  const promiscuityAt = scales.promiscuity === undefined ? -1 : slopeCount - 1;
  const rate = fitRate(exceedancesOf(sample, ratePairs, scales, weights), {
    ...(isSmall ? SMALL_LENGTH_SLOPE_FORM : LENGTH_SLOPE_FORM),
    slopeCount,
    slowerShare: shares.slower / shares.faster,
    shareOf(at) {
      if (at === promiscuityAt) return PROMISCUITY_SLOPE_SHARE;
      return MOMENT_SLOPES.includes(at) ? shares.faster : 1;
    },
  });
  const cysteines = sample.hasProfiles ? PROFILED_CYSTEINES : CYSTEINES;
  const scores = { ...sample.scores, profileScore: 0 };
  return rate && { ...scales, weights, ...rate, scores, cysteines };
}

/** Returns the sample with the profile scores in its evidence. */
export function withProfileScores(sample: HubnessSample): HubnessSample {
  const { evidence, profileScores, scores } = sample;
  return {
    ...sample,
    evidence: evidence.map(
      (value, pair) =>
        value + scores.profileScore * profileEvidence(sample.shapeAt(pair), profileScores[pair]),
    ),
  };
}

/**
 * Adds the profile score to a null that was fitted without it. The constant of the threshold and the scale are fitted
 * anew, and all else stays. The profile score reveals remote homologs, which no link connects. A fit of all terms to
 * such pairs would take from all homologs what these gain.
 * @param sample  with the profile scores in its evidence
 */
export function addProfileScore(
  sample: HubnessSample,
  plain: PairNull,
  isLeftOut: (pair: number) => boolean,
  random: Random,
): PairNull {
  const usable = sample.fitPairs.filter((pair) => !isLeftOut(pair));
  const chosen = sampleDistinct(usable.length, RATE_PAIRS, random).map((index) => usable[index]);
  const terms = new Float64Array(MOST_TERMS);
  const excesses = Float64Array.from(chosen, (pair) => {
    nullTerms(sample.pairAt(pair), plain, terms);
    return sample.evidence[pair] - expectedOf(plain.weights, terms);
  });
  const added = excesses.sort()[Math.floor((1 - EXCEEDANCE_SHARE) * excesses.length)];
  const weights = plain.weights.with(0, plain.weights[0] + added);
  const truncated = belowCeiling(exceedancesOf(sample, chosen, plain, weights));
  const scale = truncated === undefined ? plain.scale : Math.exp(logScaleOf(truncated, plain.rate));
  return { ...plain, weights, scale, scores: sample.scores };
}

function hasPromiscuity({ promiscuities }: HubnessSample): boolean {
  return promiscuities.some((promiscuity) => promiscuity !== 0);
}

/** Returns the hubness components of each pair, one array per direction; empty without profiles. */
function hubnessComponentProducts(sample: HubnessSample, pairs: Uint32Array): readonly Float64Array[] {
  if (!sample.hasProfiles) return [];
  return Array.from({ length: HUBNESS_COMPONENT_COUNT }, (_, at) =>
    Float64Array.from(pairs, (pair) => sample.pairAt(pair).hubnessComponents[at]),
  );
}

/** Returns the correction of the constant term after which EXCEEDANCE_SHARE of the pairs exceed the regression. */
function exceededExcess(terms: Float64Array, evidence: Float64Array, weights: readonly number[]): number {
  const excesses = evidence.map((value, row) => value - expectedOf(weights, terms, row * weights.length));
  return excesses.sort()[Math.floor((1 - EXCEEDANCE_SHARE) * excesses.length)];
}

/** A pair above the regression. */
interface Exceedance {
  /** Unit: evidence. */
  readonly excess: number;
  /** The terms on which the mean excess depends. */
  readonly terms: readonly number[];
}

function exceedancesOf(
  sample: HubnessSample,
  pairs: Uint32Array,
  scales: NullScales,
  weights: readonly number[],
): readonly Exceedance[] {
  const exceedances: Exceedance[] = [];
  // If all scores are equal, rounding leaves excesses of a few ulp, which are no tail.
  const rounding = 1e-6 * Math.max(...weights.map(Math.abs));
  const terms = new Float64Array(MOST_TERMS);
  const places = slopeTerms(scales);
  for (const pair of pairs) {
    nullTerms(sample.pairAt(pair), scales, terms);
    const excess = sample.evidence[pair] - expectedOf(weights, terms);
    if (excess > rounding) exceedances.push({ excess, terms: places.map((place) => terms[place]) });
  }
  return exceedances;
}

interface Rate extends RateModel {
  readonly logScale: number;
}

interface SlopeForm extends Pick<RateModel, 'slowerShare' | 'shortFactor'> {
  readonly lengthSlope: number;
  readonly slopeCount: number;
  /** Shrinkage of a fitted slope. Range: 0..1 */
  readonly shareOf: (at: number) => number;
}

/**
 * Fits the mean excess and its dependence on the terms: a maximum-likelihood exponential, truncated at a ceiling below
 * most homologs.
 * Source  coordinate ascent; the likelihood is unimodal along each coordinate
 */
function fitRate(
  exceedances: readonly Exceedance[],
  { slopeCount, lengthSlope, shortFactor, slowerShare, shareOf }: SlopeForm,
): Pick<PairNull, 'scale' | 'rate'> | undefined {
  const truncated = belowCeiling(exceedances);
  if (truncated === undefined) return undefined;
  const { mean, ceiling, below } = truncated;
  const scaled = (rate: Rate): Rate => ({ ...rate, logScale: logScaleOf(truncated, rate) });
  const sloped = (rate: Rate, at: number): Rate => {
    const withSlope = (slope: number): Rate => ({ ...rate, slopes: rate.slopes.with(at, slope) });
    const value = (slope: number): number => logLikelihood(below, ceiling, withSlope(slope));
    return withSlope(maximise(value, -SLOPE_LIMIT, SLOPE_LIMIT, SEARCH_STEPS));
  };
  const initialSlopes = new Array<number>(slopeCount).fill(0).with(LENGTH_SLOPE, lengthSlope);
  let full: Rate = {
    logScale: Math.log(mean),
    slopes: initialSlopes,
    slowerShare: 1,
    shortFactor,
  };
  for (let sweep = 0; sweep < RATE_SWEEPS; sweep += 1) {
    full = scaled(full);
    for (let at = LENGTH_SLOPE + 1; at < slopeCount; at += 1) full = sloped(full, at);
  }
  const slopes = full.slopes.map((slope, at) => shareOf(at) * slope);
  const rate = { slopes, slowerShare, shortFactor };
  return { scale: Math.exp(scaled({ ...full, ...rate }).logScale), rate };
}

/** Exceedances up to a ceiling below most homologs, and an estimate of their mean. */
interface Truncated {
  readonly mean: number;
  readonly ceiling: number;
  readonly below: readonly Exceedance[];
}

function belowCeiling(exceedances: readonly Exceedance[]): Truncated | undefined {
  const sorted = Float64Array.from(exceedances, ({ excess }) => excess).sort();
  if (sorted.length === 0) return undefined;
  // The median of an exponential is ln 2 times its mean. Homologs high in the tail do not change the median.
  const mean = sorted[sorted.length >>> 1] / Math.LN2;
  const ceiling = SCALE_CEILING_EXCESSES * mean;
  return { mean, ceiling, below: exceedances.filter(({ excess }) => excess <= ceiling) };
}

/** Returns ln of the scale with which the exceedances are most likely. */
function logScaleOf({ ceiling, below }: Truncated, rate: RateModel): number {
  const value = (logScale: number): number => logLikelihood(below, ceiling, { ...rate, logScale });
  return maximise(value, Math.log(ceiling / 50), Math.log(ceiling * 2), SEARCH_STEPS);
}

function logLikelihood(exceedances: readonly Exceedance[], ceiling: number, rate: Rate): number {
  const places = Array.from(rate.slopes, (_, at) => at);
  let sum = 0;
  for (const { excess, terms } of exceedances) {
    const logRate = -rate.logScale - rateSlope(rate, terms, places);
    const perUnit = Math.exp(logRate);
    sum += logRate - perUnit * excess - Math.log(-Math.expm1(-perUnit * ceiling));
  }
  return sum;
}

/** Measures the scales of lengths and moments on pairs of the sample. */
export function measureShapes(sample: NullSample, random: Random): ShapeScales {
  const pairs = sampleDistinct(sample.pairCount, REGRESSION_PAIRS, random);
  const columns = Array.from({ length: 7 }, () => new Float64Array(pairs.length));
  pairs.forEach((pair, row) => {
    const { queryLength, targetLength, meanCosine, cosineSpread, ...profiles } = sample.shapeAt(pair);
    columns[0][row] = Math.log(Math.min(queryLength, targetLength));
    columns[1][row] = Math.log(Math.max(queryLength, targetLength));
    columns[2][row] = meanCosine;
    columns[3][row] = cosineSpread;
    columns[4][row] = profiles.logProfileMean;
    columns[5][row] = profiles.logProfileSpread;
    columns[6][row] = profiles.logEffective;
  });
  const [logShorter, logLonger, meanCosine, cosineSpread, logMean, logSpread, logEffective] =
    columns.map(scaleOf);
  const plain = { logShorter, logLonger, meanCosine, cosineSpread };
  if (!sample.hasProfiles) return plain;
  const profiles = { logMean: withoutFarEnds(logMean), logSpread: withoutFarEnds(logSpread), logEffective };
  return { ...plain, profiles };
}

function withoutFarEnds({ centre, spread, minimum, maximum }: CovariateScale): CovariateScale {
  const reach = PROFILE_SPREADS * spread;
  return {
    centre,
    spread,
    minimum: Math.max(minimum, centre - reach),
    maximum: Math.min(maximum, centre + reach),
  };
}

function scaleOf(values: Float64Array): CovariateScale {
  const sorted = values.slice().sort();
  let centre = 0;
  for (const value of sorted) centre += value / sorted.length;
  let variance = 0;
  for (const value of sorted) variance += (value - centre) ** 2 / sorted.length;
  return {
    centre,
    // A constant covariate standardises to 0.
    spread: variance > 0 ? Math.sqrt(variance) : 1,
    minimum: sorted[0],
    maximum: sorted[sorted.length - 1],
  };
}
