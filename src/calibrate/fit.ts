import {
  LENGTH_TERM,
  MOST_TERMS,
  PROFILE_MEAN_TERM,
  PROFILE_SPREAD_TERM,
  MEAN_TERM,
  MOMENT_TERMS,
  nullTermCount,
  SPREAD_TERM,
  expectedOf,
  nullTerms,
  type CovariateScale,
  type PairNull,
  type ShapeScales,
} from '../calibration/pair-null.js';
import { sampleDistinct, type Random } from '../random.js';
import { maximise } from '../calibration/tail-model.js';
import type { BiasedSample } from './bias.js';
import type { NullSample } from './sample.js';
import { fitQuantile } from './statistics/linear-quantile.js';

/** Share of pairs above the regression, where the tail coordinate is 0. */
export const EXCEEDANCE_SHARE = 0.03;
/** Mean excesses up to which the scale is fitted: above them relatives weigh too much. */
const SCALE_CEILING_EXCESSES = 3.5;

/** Pairs that the regression sees; more would not move its weights. */
const REGRESSION_PAIRS = 200_000;
/** Pairs that the slopes of the rate see: a few in a hundred of them exceed. */
const RATE_PAIRS = 1_000_000;
/** Below this many fitted pairs its weights follow the noise. */
export const FEWEST_PAIRS = 1_000;
/**
 * Relatives have a high mean cosine and spread too: the full weights and slopes of the moments would take more from
 * them than the null gains. With these parts the null is still even over structural classes.
 */
const MOMENT_WEIGHT_SHARE = 0.92;
const MOMENT_SLOPE_SHARE = 0.58;
/**
 * Far out short proteins fall off a little more slowly than long ones; near the threshold, where the rate is fitted,
 * pairs of unlike length fall off faster, and a fit would follow them.
 */
const LENGTH_SLOPE = -0.05;
const TOKEN_SLOPES = ['meanSlope', 'spreadSlope'] as const;
const PROFILE_SLOPES = ['profileMeanSlope', 'profileSpreadSlope'] as const;
/** A profile's covariate lies within so many spreads of its centre: its far ends are a handful of odd families. */
const PROFILE_SPREADS = 5;
const SLOPE_LIMIT = 1;
const SEARCH_STEPS = 30;
const RATE_SWEEPS = 4;

/**
 * Lengths and moments to threshold and scale, from the pairs that are to be fitted and not left out.
 * Errors  undefined where the pairs are too few or do not vary, so that nothing can be told from them
 */
export function fitPairNull(
  sample: BiasedSample,
  shape: ShapeScales,
  isLeftOut: (pair: number) => boolean,
  random: Random,
): PairNull | undefined {
  const usable = sample.fitPairs.filter((pair) => !isLeftOut(pair));
  if (usable.length < FEWEST_PAIRS) return undefined;
  const chosen = sampleDistinct(usable.length, REGRESSION_PAIRS, random).map((index) => usable[index]);
  const scales = { shape, bias: scaleOf(sample.biases) };
  const termCount = nullTermCount(shape);
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
  const judged = sampleDistinct(usable.length, RATE_PAIRS, random).map((index) => usable[index]);
  const rate = fitRate(exceedancesOf(sample, judged, scales, weights), sample.hasProfiles);
  return rate && { ...scales, weights, ...rate, scorePerCosine: sample.scorePerCosine };
}

/** What the share of pairs that is to exceed has beyond what the weights expect. */
function exceededExcess(terms: Float64Array, evidence: Float64Array, weights: readonly number[]): number {
  const excesses = evidence.map((value, row) => value - expectedOf(weights, terms, row * weights.length));
  return excesses.sort()[Math.floor((1 - EXCEEDANCE_SHARE) * excesses.length)];
}

interface Exceedance {
  readonly excess: number;
  /** Standardised log shorter length, mean cosine and cosine spread of the pair. */
  readonly length: number;
  readonly mean: number;
  readonly spread: number;
  /** Of profiles; 0 without. */
  readonly profileMean: number;
  readonly profileSpread: number;
}

function exceedancesOf(
  sample: BiasedSample,
  pairs: Uint32Array,
  scales: Pick<PairNull, 'shape' | 'bias'>,
  weights: readonly number[],
): readonly Exceedance[] {
  const exceedances: Exceedance[] = [];
  // Where all scores are equal, rounding leaves excesses of a few ulp: no tail.
  const rounding = 1e-6 * Math.max(...weights.map(Math.abs));
  const terms = new Float64Array(MOST_TERMS);
  for (const pair of pairs) {
    nullTerms(sample.pairAt(pair), scales, terms);
    const excess = sample.evidence[pair] - expectedOf(weights, terms);
    if (excess <= rounding) continue;
    const [length, mean, spread] = [terms[LENGTH_TERM], terms[MEAN_TERM], terms[SPREAD_TERM]];
    const [profileMean, profileSpread] =
      scales.shape.profiles === undefined ? [0, 0] : [terms[PROFILE_MEAN_TERM], terms[PROFILE_SPREAD_TERM]];
    exceedances.push({ excess, length, mean, spread, profileMean, profileSpread });
  }
  return exceedances;
}

interface Rate {
  readonly logScale: number;
  readonly lengthSlope: number;
  readonly meanSlope: number;
  readonly spreadSlope: number;
  readonly profileMeanSlope: number;
  readonly profileSpreadSlope: number;
}

/**
 * Mean excess and how it changes with the moments: exponential, truncated at a ceiling that relatives lie above.
 * Source  coordinate ascent; each section of the likelihood has one maximum
 */
function fitRate(
  exceedances: readonly Exceedance[],
  hasProfiles: boolean,
): (Omit<Rate, 'logScale'> & Pick<PairNull, 'scale'>) | undefined {
  const sorted = Float64Array.from(exceedances, ({ excess }) => excess).sort();
  if (sorted.length === 0) return undefined;
  // Of an exponential the median is ln 2 times the mean; relatives high in the tail do not move it.
  const mean = sorted[sorted.length >>> 1] / Math.LN2;
  const ceiling = SCALE_CEILING_EXCESSES * mean;
  const below = exceedances.filter(({ excess }) => excess <= ceiling);
  const best = (rate: Rate, name: keyof Rate, low: number, high: number): Rate => {
    const value = (at: number): number => logLikelihood(below, ceiling, { ...rate, [name]: at });
    return { ...rate, [name]: maximise(value, low, high, SEARCH_STEPS) };
  };
  const scaled = (rate: Rate): Rate => best(rate, 'logScale', Math.log(ceiling / 50), Math.log(ceiling * 2));
  let rate: Rate = {
    logScale: Math.log(mean),
    lengthSlope: LENGTH_SLOPE,
    meanSlope: 0,
    spreadSlope: 0,
    profileMeanSlope: 0,
    profileSpreadSlope: 0,
  };
  const fitted = hasProfiles ? [...TOKEN_SLOPES, ...PROFILE_SLOPES] : TOKEN_SLOPES;
  for (let sweep = 0; sweep < RATE_SWEEPS; sweep += 1) {
    rate = scaled(rate);
    for (const name of fitted) rate = best(rate, name, -SLOPE_LIMIT, SLOPE_LIMIT);
  }
  const { logScale, ...slopes } = scaled({
    ...rate,
    meanSlope: MOMENT_SLOPE_SHARE * rate.meanSlope,
    spreadSlope: MOMENT_SLOPE_SHARE * rate.spreadSlope,
  });
  return { scale: Math.exp(logScale), ...slopes };
}

function logLikelihood(exceedances: readonly Exceedance[], ceiling: number, rate: Rate): number {
  const { logScale, lengthSlope, meanSlope, spreadSlope, profileMeanSlope, profileSpreadSlope } = rate;
  let sum = 0;
  for (const { excess, length, mean, spread, profileMean, profileSpread } of exceedances) {
    const ofProfiles = profileMeanSlope * profileMean + profileSpreadSlope * profileSpread;
    const logRate = -logScale - lengthSlope * length - meanSlope * mean - spreadSlope * spread - ofProfiles;
    const perUnit = Math.exp(logRate);
    sum += logRate - perUnit * excess - Math.log(-Math.expm1(-perUnit * ceiling));
  }
  return sum;
}

/** Places and spreads of lengths and moments over the sample. */
export function measureShapes(sample: NullSample, random: Random): ShapeScales {
  const pairs = sampleDistinct(sample.pairCount, REGRESSION_PAIRS, random);
  const columns = Array.from({ length: 6 }, () => new Float64Array(pairs.length));
  pairs.forEach((pair, row) => {
    const { queryLength, targetLength, meanCosine, cosineSpread, ...profiles } = sample.shapeAt(pair);
    columns[0][row] = Math.log(Math.min(queryLength, targetLength));
    columns[1][row] = Math.log(Math.max(queryLength, targetLength));
    columns[2][row] = meanCosine;
    columns[3][row] = cosineSpread;
    columns[4][row] = profiles.logProfileMean;
    columns[5][row] = profiles.logProfileSpread;
  });
  const [logShorter, logLonger, meanCosine, cosineSpread, ...ofProfiles] = columns.map(scaleOf);
  const plain = { logShorter, logLonger, meanCosine, cosineSpread };
  if (!sample.hasProfiles) return plain;
  const [logMean, logSpread] = ofProfiles.map(withoutFarEnds);
  return { ...plain, profiles: { logMean, logSpread } };
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
    // A covariate that never varies has no say.
    spread: variance > 0 ? Math.sqrt(variance) : 1,
    minimum: sorted[0],
    maximum: sorted[sorted.length - 1],
  };
}
