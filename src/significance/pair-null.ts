import type { PairMoments } from './moments.js';

/** Lengths and token moments of one pair; which of the two is the query makes no difference. */
export interface PairShape extends PairMoments {
  readonly queryLength: number;
  readonly targetLength: number;
}

/** One pair as the null sees it. */
export interface NullPair extends PairShape {
  /** How much closer each of the two is to unrelated proteins than its length and moments say. Unit: cosine. */
  readonly queryHubness: number;
  readonly targetHubness: number;
  /** Products of what the two lean to (protein-bias.ts); none without profiles. */
  readonly hubnessComponents: readonly number[];
}

/** What a search measures of one pair. */
export interface PairScore {
  readonly affineScore: number;
  /** Mean of both directions' mean closest cosines: 1 − maxsim.bidirectional. */
  readonly meanClosestCosine: number;
}

/** A covariate's place and spread in the calibration sample, and the range beyond which it counts as at the end. */
export interface CovariateScale {
  readonly centre: number;
  readonly spread: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Places and spreads of what a pair's shape is made of. */
export interface ShapeScales {
  readonly logShorter: CovariateScale;
  readonly logLonger: CovariateScale;
  readonly meanCosine: CovariateScale;
  readonly cosineSpread: CovariateScale;
  /** Where the proteins have profiles. */
  readonly profiles?: ProfileScales;
}

export interface ProfileScales {
  readonly logMean: CovariateScale;
  readonly logSpread: CovariateScale;
  readonly logEffective: CovariateScale;
}

/** What the two proteins of a pair are like beside its shape. */
export interface HubnessScales {
  readonly hubness: CovariateScale;
  /** LEANING_COUNT of them where there are profiles, else none. */
  readonly hubnessComponents: readonly CovariateScale[];
}

/**
 * Conditioning of the null on lengths, token moments and biases of a pair.
 *
 *   evidence        = affine score ÷ (query length · target length)^¼ + 3 · (score of one cosine) · closeness
 *   tail coordinate = (evidence − Σ weight · term) ÷ (scale · e^(length slope · l + share · moments))
 *   moments         = mean slope · m + spread slope · s
 *
 * where the sum is the evidence that a small share of unrelated pairs of the same kind exceed, and the divisor follows
 * the mean excess over it with the pair's standardised log shorter length l, mean cosine m and cosine spread s; where
 * there are profiles, with the same two of these, what the poorer one is worth, and what both proteins lean to, too.
 * The share is 1 where the moments make the tail fall faster than at their centres, and `slowerShare` where slower.
 * Under the null all pairs have one tail: close to e^(−coordinate).
 * Source  linear quantile regression (Koenker & Bassett 1978)
 */
export interface PairNull extends HubnessScales {
  readonly shape: ShapeScales;
  /** One per term, in the order of `nullTerms`. */
  readonly weights: readonly number[];
  readonly scale: number;
  readonly rate: RateModel;
  readonly scorePerCosine: number;
}

/** How the mean excess of a pair follows its terms. */
export interface RateModel {
  /** One for each of `slopeTerms`. */
  readonly slopes: readonly number[];
  /** Of what the moments say, where they make the tail fall more slowly than at their centres. Range: 0–1 */
  readonly slowerShare: number;
}

const PLAIN_TERM_COUNT = 7;
const PROFILE_TERM_COUNT = 3;
const BIAS_TERM_COUNT = 2;
/** Directions that proteins lean to: after two the next are a quarter as strong. */
export const HUBNESS_COMPONENT_COUNT = 2;
/** Terms of a pair's shape, and all of them with the biases; more where there are profiles. */
export const shapeTermCount = ({ profiles }: ShapeScales): number =>
  PLAIN_TERM_COUNT + (profiles === undefined ? 0 : PROFILE_TERM_COUNT);
export const nullTermCount = (shape: ShapeScales): number =>
  shapeTermCount(shape) + BIAS_TERM_COUNT + (shape.profiles === undefined ? 0 : HUBNESS_COMPONENT_COUNT);
export const MOST_TERMS = PLAIN_TERM_COUNT + PROFILE_TERM_COUNT + BIAS_TERM_COUNT + HUBNESS_COMPONENT_COUNT;
/** Places of the standardised log shorter length, mean cosine and cosine spread among the terms. */
const LENGTH_TERM = 1;
const MEAN_TERM = 4;
const SPREAD_TERM = 5;
/** Those of the profiles' mean, spread and worth, where there are profiles, and of leanings. */
const PROFILE_TERM = PLAIN_TERM_COUNT;
const LEANING_TERM = PROFILE_TERM + PROFILE_TERM_COUNT + BIAS_TERM_COUNT;
/** Terms that the mean excess follows. */
export const slopeTerms = ({ profiles }: ShapeScales): readonly number[] =>
  profiles === undefined ? PLAIN_SLOPES : PROFILED_SLOPES;
const PLAIN_SLOPES = [LENGTH_TERM, MEAN_TERM, SPREAD_TERM];
/** Places among the slopes. */
export const LENGTH_SLOPE = 0;
const MEAN_SLOPE = 1;
const SPREAD_SLOPE = 2;
export const MOMENT_SLOPES: readonly number[] = [MEAN_SLOPE, SPREAD_SLOPE];
const PROFILED_SLOPES = [
  ...PLAIN_SLOPES,
  ...Array.from({ length: PROFILE_TERM_COUNT }, (_, at) => PROFILE_TERM + at),
  ...Array.from({ length: HUBNESS_COMPONENT_COUNT }, (_, at) => LEANING_TERM + at),
];
/** Places of all terms that moments of tokens have a part in. */
export const MOMENT_TERMS: readonly number[] = [MEAN_TERM, SPREAD_TERM, 6];

/** Writes the terms of a pair's shape at `start`: lengths, moments, and the products that matter. */
export function shapeTerms(pair: PairShape, scales: ShapeScales, terms: Float64Array, start = 0): void {
  const shorter = standardised(Math.log(Math.min(pair.queryLength, pair.targetLength)), scales.logShorter);
  const longer = standardised(Math.log(Math.max(pair.queryLength, pair.targetLength)), scales.logLonger);
  const mean = standardised(pair.meanCosine, scales.meanCosine);
  const spread = standardised(pair.cosineSpread, scales.cosineSpread);
  terms[start] = 1;
  terms[start + LENGTH_TERM] = shorter;
  terms[start + 2] = longer;
  terms[start + 3] = shorter * shorter;
  terms[start + MEAN_TERM] = mean;
  terms[start + SPREAD_TERM] = spread;
  terms[start + 6] = spread * shorter;
  if (scales.profiles === undefined) return;
  terms[start + PROFILE_TERM] = standardised(pair.logProfileMean, scales.profiles.logMean);
  terms[start + PROFILE_TERM + 1] = standardised(pair.logProfileSpread, scales.profiles.logSpread);
  terms[start + PROFILE_TERM + 2] = standardised(pair.logEffective, scales.profiles.logEffective);
}

/** Writes all terms of a pair at `start`: those of its shape, then sum and product of the two biases, and leanings. */
export function nullTerms(
  pair: NullPair,
  { shape, hubness, hubnessComponents }: Pick<PairNull, 'shape' | 'hubness' | 'hubnessComponents'>,
  terms: Float64Array,
  start = 0,
): void {
  shapeTerms(pair, shape, terms, start);
  const query = standardised(pair.queryHubness, hubness);
  const target = standardised(pair.targetHubness, hubness);
  const hubnesses = start + shapeTermCount(shape);
  terms[hubnesses] = query + target;
  terms[hubnesses + 1] = query * target;
  hubnessComponents.forEach(
    (scale, at) => (terms[start + LEANING_TERM + at] = standardised(pair.hubnessComponents[at], scale)),
  );
}

/** How much closeness counts beside the affine score, in score of equal residues per unit of the root of a length. */
const CLOSENESS_WEIGHT = 3;

/**
 * One number for what affine alignment and MaxSim show together. Affine scores of unrelated proteins grow more slowly
 * than their lengths; over the root of the lengths' geometric mean, with a little closeness added, they fall off at one
 * rate far out, whatever the lengths.
 * @param scorePerCosine  affine score that one unit of cosine adds to a pair of residues
 */
export function pairEvidence(pair: PairShape, score: PairScore, scorePerCosine: number): number {
  const affine = score.affineScore / Math.sqrt(Math.sqrt(pair.queryLength * pair.targetLength));
  return affine + CLOSENESS_WEIGHT * scorePerCosine * score.meanClosestCosine;
}

/** The tail coordinate of a pair with this score. */
export function tailCoordinate(model: PairNull, pair: NullPair, score: PairScore): number {
  return excessCoordinate(model, pair, pairEvidence(pair, score, model.scorePerCosine));
}

/** The tail coordinate of a pair with this evidence. */
export function excessCoordinate(model: PairNull, pair: NullPair, evidence: number): number {
  nullTerms(pair, model, scratch);
  const excess = evidence - expectedOf(model.weights, scratch);
  return excess / (model.scale * Math.exp(rateSlope(model.rate, scratch, slopeTerms(model.shape))));
}

/** What a regression expects of a pair whose terms begin at `start`: one weight for each of them. */
export function expectedOf(weights: readonly number[], terms: Float64Array, start = 0): number {
  let expected = 0;
  for (let term = 0; term < weights.length; term += 1) expected += weights[term] * terms[start + term];
  return expected;
}

/**
 * ln of the mean excess of a pair, relative to the scale.
 * @param places  where the term of each slope stands
 */
export function rateSlope(
  { slopes, slowerShare }: RateModel,
  terms: ArrayLike<number>,
  places: readonly number[],
): number {
  const part = (at: number): number => slopes[at] * terms[places[at]];
  const moments = part(MEAN_SLOPE) + part(SPREAD_SLOPE);
  let slope = part(LENGTH_SLOPE) + moments * (moments > 0 ? slowerShare : 1);
  for (let at = PLAIN_SLOPES.length; at < slopes.length; at += 1) slope += part(at);
  return slope;
}

/** Terms of the pair at hand: no allocation for each of a thousand candidates. */
const scratch = new Float64Array(MOST_TERMS);

function standardised(value: number, scale: CovariateScale): number {
  const clipped = Math.min(scale.maximum, Math.max(scale.minimum, value));
  return (clipped - scale.centre) / scale.spread;
}
