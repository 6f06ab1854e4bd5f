import {
  HUBNESS_COMPONENT_COUNT,
  LENGTH_SLOPE,
  MOMENT_SLOPES,
  MOST_TERMS,
  MOMENT_TERMS,
  nullTermCount,
  expectedOf,
  nullTerms,
  rateSlope,
  slopeTerms,
  type CovariateScale,
  type PairNull,
  type RateModel,
  type ShapeScales,
} from '../significance/pair-null.js';
import { sampleDistinct, type Random } from '../random.js';
import { maximise } from '../significance/tail-model.js';
import type { HubnessSample } from './hubness.js';
import type { NullSample } from './sample.js';
import { fitQuantile } from './statistics/linear-quantile.js';
import { isSmallSample } from './tail.js';

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
 * Relatives have a high mean cosine and spread too: the full weights of the moments, and their full slopes where they
 * make the tail fall more slowly, would take more from them than the null gains. Where they make it fall faster there
 * are no relatives to lose: pairs of a membrane protein with others have half the mean excess, and with .58 both ways
 * they found a third of the hits claimed. With these parts the null is even over structural classes. Releases with
 * profiles were measured with one share for both; and so are small samples, whose slopes are half noise: of 308
 * simulated proteins, a family of nine lost its members to them.
 */
const MOMENT_WEIGHT_SHARE = 0.92;
const UNEVEN_SHARES = { faster: 1, slower: 0.4 };
const EVEN_SHARES = { faster: 0.58, slower: 0.58 };
/**
 * Far out short proteins fall off a little more slowly than long ones; near the threshold, where the rate is fitted,
 * pairs of unlike length fall off faster, and a fit would follow them.
 */
const SLOPE_OF_LENGTH = -0.05;
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
  sample: HubnessSample,
  shape: ShapeScales,
  isLeftOut: (pair: number) => boolean,
  random: Random,
): PairNull | undefined {
  const usable = sample.fitPairs.filter((pair) => !isLeftOut(pair));
  if (usable.length < FEWEST_PAIRS) return undefined;
  const chosen = sampleDistinct(usable.length, REGRESSION_PAIRS, random).map((index) => usable[index]);
  const hubnessComponents = hubnessComponentProducts(sample, chosen).map(scaleOf);
  const scales = {
    shape,
    hubness: scaleOf(Float64Array.from(sample.hubnesses, ({ hubness }) => hubness)),
    hubnessComponents: hubnessComponents,
  };
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
  const isEven = sample.hasProfiles || isSmallSample(sample.pairCount);
  const shares = isEven ? EVEN_SHARES : UNEVEN_SHARES;
  const found = fitRate(exceedancesOf(sample, judged, scales, weights), slopeTerms(shape).length, shares);
  return found && { ...scales, weights, ...found, scorePerCosine: sample.scorePerCosine };
}

/** What the two proteins of each pair lean to, by direction; nothing without profiles. */
function hubnessComponentProducts(sample: HubnessSample, pairs: Uint32Array): readonly Float64Array[] {
  if (!sample.hasProfiles) return [];
  return Array.from({ length: HUBNESS_COMPONENT_COUNT }, (_, at) =>
    Float64Array.from(pairs, (pair) => sample.pairAt(pair).hubnessComponents[at]),
  );
}

/** What the share of pairs that is to exceed has beyond what the weights expect. */
function exceededExcess(terms: Float64Array, evidence: Float64Array, weights: readonly number[]): number {
  const excesses = evidence.map((value, row) => value - expectedOf(weights, terms, row * weights.length));
  return excesses.sort()[Math.floor((1 - EXCEEDANCE_SHARE) * excesses.length)];
}

/** A pair beyond the regression. */
interface Exceedance {
  readonly excess: number;
  /** Its terms that the mean excess follows. */
  readonly terms: readonly number[];
}

function exceedancesOf(
  sample: HubnessSample,
  pairs: Uint32Array,
  scales: Pick<PairNull, 'shape' | 'hubness' | 'hubnessComponents'>,
  weights: readonly number[],
): readonly Exceedance[] {
  const exceedances: Exceedance[] = [];
  // Where all scores are equal, rounding leaves excesses of a few ulp: no tail.
  const rounding = 1e-6 * Math.max(...weights.map(Math.abs));
  const terms = new Float64Array(MOST_TERMS);
  const places = slopeTerms(scales.shape);
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

/**
 * Mean excess and how it changes with the terms: exponential, truncated at a ceiling that relatives lie above.
 * @param shares  of what the moments say, that are taken
 * Source  coordinate ascent; each section of the likelihood has one maximum
 */
function fitRate(
  exceedances: readonly Exceedance[],
  slopeCount: number,
  shares: { readonly faster: number; readonly slower: number },
): Pick<PairNull, 'scale' | 'rate'> | undefined {
  const sorted = Float64Array.from(exceedances, ({ excess }) => excess).sort();
  if (sorted.length === 0) return undefined;
  // Of an exponential the median is ln 2 times the mean; relatives high in the tail do not move it.
  const mean = sorted[sorted.length >>> 1] / Math.LN2;
  const ceiling = SCALE_CEILING_EXCESSES * mean;
  const below = exceedances.filter(({ excess }) => excess <= ceiling);
  const scaled = (rate: Rate): Rate => {
    const value = (logScale: number): number => logLikelihood(below, ceiling, { ...rate, logScale });
    return {
      ...rate,
      logScale: maximise(value, Math.log(ceiling / 50), Math.log(ceiling * 2), SEARCH_STEPS),
    };
  };
  const sloped = (rate: Rate, at: number): Rate => {
    const withSlope = (slope: number): Rate => ({ ...rate, slopes: rate.slopes.with(at, slope) });
    const value = (slope: number): number => logLikelihood(below, ceiling, withSlope(slope));
    return withSlope(maximise(value, -SLOPE_LIMIT, SLOPE_LIMIT, SEARCH_STEPS));
  };
  const unknown = new Array<number>(slopeCount).fill(0).with(LENGTH_SLOPE, SLOPE_OF_LENGTH);
  let full: Rate = { logScale: Math.log(mean), slopes: unknown, slowerShare: 1 };
  for (let sweep = 0; sweep < RATE_SWEEPS; sweep += 1) {
    full = scaled(full);
    for (let at = LENGTH_SLOPE + 1; at < slopeCount; at += 1) full = sloped(full, at);
  }
  const slopes = full.slopes.map((slope, at) => (MOMENT_SLOPES.includes(at) ? shares.faster * slope : slope));
  const rate = { slopes, slowerShare: shares.slower / shares.faster };
  return { scale: Math.exp(scaled({ ...full, ...rate }).logScale), rate };
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

/** Places and spreads of lengths and moments over the sample. */
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
    // A covariate that never varies has no say.
    spread: variance > 0 ? Math.sqrt(variance) : 1,
    minimum: sorted[0],
    maximum: sorted[sorted.length - 1],
  };
}
