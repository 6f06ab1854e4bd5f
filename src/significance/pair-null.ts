import { compositionExcess, type CompositionModel } from './composition.js';
import { cysteineExcess, type PairCysteines } from './cysteines.js';
import { membraneExcess, type MembraneModel } from './membrane.js';
import type { PairMoments } from './moments.js';

/** Lengths and moments of one pair. The null is symmetric in query and target. */
export interface PairShape extends PairMoments {
  readonly queryLength: number;
  readonly targetLength: number;
}

/** All covariates of one pair in the null model. */
export interface NullPair extends PairShape {
  /** Mean excess similarity of the query to the reference set (hubness.ts). Unit: cosine. */
  readonly queryHubness: number;
  /** The same of the target. */
  readonly targetHubness: number;
  /** Products of the hubness components of query and target; empty without profiles. */
  readonly hubnessComponents: readonly number[];
  /** Sum of the promiscuities of query and target. */
  readonly promiscuity: number;
  /** Sum of the class biases of query and target (moment-weights.ts); 0 while a null is fitted. */
  readonly classBias: number;
  /** What the repeats of both proteins take off the coordinate (repeats.ts); 0 while a null is fitted. */
  readonly repeats: number;
  /** `composition` of both proteins (composition.ts); 0 while a null is fitted. Unit: nats. */
  readonly composition: number;
  /** `membraneShareOf` of the query (membrane.ts); 0 while a null is fitted. */
  readonly queryMembraneShare: number;
  /** The same of the target. */
  readonly targetMembraneShare: number;
  /** Cysteines of both proteins; absent from a pair whose scores gain nothing by them. */
  readonly cysteines: PairCysteines | undefined;
}

/** The scores of one pair. */
export interface PairScore {
  /** Smith–Waterman score. */
  readonly affineScore: number;
  /** Mean of both directions' mean closest cosines: 1 − maxsim.bidirectional. */
  readonly meanClosestCosine: number;
  /** Score of both profiles (`KernelBackend.profileScores`); 0 if the null does not use it. */
  readonly profileScore: number;
}

/** Mean and standard deviation of a covariate in the calibration sample, and the range to which it is clipped. */
export interface CovariateScale {
  readonly centre: number;
  readonly spread: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Scales of the covariates of a pair's shape. */
export interface ShapeScales {
  readonly logShorter: CovariateScale;
  readonly logLonger: CovariateScale;
  readonly meanCosine: CovariateScale;
  readonly cosineSpread: CovariateScale;
  /** Present if the release has profiles. */
  readonly profiles?: ProfileScales;
}

export interface ProfileScales {
  readonly logMean: CovariateScale;
  readonly logSpread: CovariateScale;
  readonly logEffective: CovariateScale;
}

/** Scales of the covariates that come from the reference set. */
export interface HubnessScales {
  readonly hubness: CovariateScale;
  /** HUBNESS_COMPONENT_COUNT scales with profiles, else empty. */
  readonly hubnessComponents: readonly CovariateScale[];
  /** Absent from nulls of small samples and of earlier versions, which have no promiscuity. */
  readonly promiscuity?: CovariateScale;
}

/**
 * The null model of a pair, conditional on its lengths, moments and hubness.
 *
 *   evidence        = affine score ÷ (query length · target length)^¼ + 3 · (score of one cosine) · mean closest cosine
 *                     + weight · bits of the profile score beyond chance (`profileEvidence`)
 *   tail coordinate = (evidence − Σ weight · term) ÷ (scale · e^(length slope · l + share · moments))
 *                     − class bias − repeats − cysteine weight · cysteine excess (cysteines.ts)
 *                     − composition excess (composition.ts) − membrane excess (membrane.ts)
 *   moments         = mean slope · m + spread slope · s
 *
 * The sum is a high quantile of the evidence of unrelated pairs with the same covariates, fitted by quantile
 * regression. The divisor is the mean excess over that quantile. It depends on the standardised log shorter length l,
 * the mean cosine m and the cosine spread s of the pair. With profiles it also depends on the mean and spread of the
 * profile products, the smaller effective number of sequences and the hubness components, and with promiscuity on that
 * of both proteins. The share is 1 if the moments make the tail fall faster than at their means, and `slowerShare` if
 * slower. Under the null the tail of every pair is close to e^(−coordinate).
 * Source  linear quantile regression (Koenker & Bassett 1978)
 */
export interface PairNull extends HubnessScales {
  readonly shape: ShapeScales;
  /** One per term, in the order of `nullTerms`. Unit: evidence. */
  readonly weights: readonly number[];
  /** Mean excess of a pair whose covariates are at their means. Unit: evidence. */
  readonly scale: number;
  readonly rate: RateModel;
  readonly scores: ScoreWeights;
  readonly cysteines: CysteineWeight;
  /** Absent from nulls that were fitted to a release, and from earlier versions. */
  readonly composition?: CompositionModel;
  /** Absent as `composition` is. */
  readonly membrane?: MembraneModel;
}

/** How cysteines lower the coordinate of a pair. */
export interface CysteineWeight {
  /** Mean excesses that one unit of the cysteine excess takes off the coordinate; 0 for earlier nulls. */
  readonly weight: number;
  /** Share of cysteines up to which proteins count as usual. Range: 0..1 */
  readonly usualShare: number;
}

/** Weights of the scores in the evidence of a pair. */
export interface ScoreWeights {
  /** Affine score that one unit of cosine adds to a pair of residues. */
  readonly scorePerCosine: number;
  /** Evidence that one bit of the profile score beyond chance adds; 0 if the null does not use it. */
  readonly profileScore: number;
}

/** Dependence of the mean excess of a pair on its terms. */
export interface RateModel {
  /** One slope for each of `slopeTerms`. Unit: ln of the mean excess per standardised term. */
  readonly slopes: readonly number[];
  /** Factor on the effect of the token moments if they make the tail fall more slowly. Range: 0..1 */
  readonly slowerShare: number;
  /** Factor on the slope of the log shorter length below its mean. Range: 1.. */
  readonly shortFactor: number;
}

/** Scales of all covariates of a pair. */
export type NullScales = Pick<PairNull, 'shape' | 'hubness' | 'hubnessComponents' | 'promiscuity'>;

const PLAIN_TERM_COUNT = 7;
const PROFILE_TERM_COUNT = 3;
const HUBNESS_TERM_COUNT = 2;
/** The standardised promiscuity, and its part above the mean. */
const PROMISCUITY_TERM_COUNT = 2;
/** Number of hubness components. The components after the second are a quarter as strong. */
export const HUBNESS_COMPONENT_COUNT = 2;
/** Number of terms of a pair's shape. Profiles add three terms. */
export const shapeTermCount = ({ profiles }: ShapeScales): number =>
  PLAIN_TERM_COUNT + (profiles === undefined ? 0 : PROFILE_TERM_COUNT);
/** Index of the first term of promiscuity: after those of the shape, two of hubness, and the hubness components. */
const promiscuityTerm = (shape: ShapeScales): number =>
  shapeTermCount(shape) + HUBNESS_TERM_COUNT + (shape.profiles === undefined ? 0 : HUBNESS_COMPONENT_COUNT);
/** Number of all terms of a pair. */
export const nullTermCount = ({ shape, promiscuity }: NullScales): number =>
  promiscuityTerm(shape) + (promiscuity === undefined ? 0 : PROMISCUITY_TERM_COUNT);
export const MOST_TERMS =
  PLAIN_TERM_COUNT +
  PROFILE_TERM_COUNT +
  HUBNESS_TERM_COUNT +
  HUBNESS_COMPONENT_COUNT +
  PROMISCUITY_TERM_COUNT;
/** Indices of the standardised log shorter length, mean cosine and cosine spread among the terms. */
const LENGTH_TERM = 1;
const MEAN_TERM = 4;
const SPREAD_TERM = 5;
/** With profiles: index of the first of the three profile terms, and of the first hubness component. */
const PROFILE_TERM = PLAIN_TERM_COUNT;
const HUBNESS_COMPONENT_TERM = PROFILE_TERM + PROFILE_TERM_COUNT + HUBNESS_TERM_COUNT;
/** Indices of the terms on which the mean excess depends. */
export const slopeTerms = ({ shape, promiscuity }: NullScales): readonly number[] => {
  if (shape.profiles === undefined)
    return promiscuity === undefined ? PLAIN_SLOPES : PROMISCUOUS_PLAIN_SLOPES;
  return promiscuity === undefined ? PROFILED_SLOPES : PROMISCUOUS_PROFILED_SLOPES;
};
const PLAIN_SLOPES = [LENGTH_TERM, MEAN_TERM, SPREAD_TERM];
/** Indices among the slopes. */
export const LENGTH_SLOPE = 0;
const MEAN_SLOPE = 1;
const SPREAD_SLOPE = 2;
export const MOMENT_SLOPES: readonly number[] = [MEAN_SLOPE, SPREAD_SLOPE];
const PROFILED_SLOPES = [
  ...PLAIN_SLOPES,
  ...Array.from({ length: PROFILE_TERM_COUNT }, (_, at) => PROFILE_TERM + at),
  ...Array.from({ length: HUBNESS_COMPONENT_COUNT }, (_, at) => HUBNESS_COMPONENT_TERM + at),
];
/*
 * The tail of promiscuous pairs falls more slowly. That of others falls as fast as at the mean: small proteins that are
 * rich in cysteine exceed the threshold seldom, but far, and a slope would make their E-values ten times too small.
 */
const PROMISCUOUS_PLAIN_SLOPES = [...PLAIN_SLOPES, PLAIN_TERM_COUNT + HUBNESS_TERM_COUNT + 1];
const PROMISCUOUS_PROFILED_SLOPES = [
  ...PROFILED_SLOPES,
  HUBNESS_COMPONENT_TERM + HUBNESS_COMPONENT_COUNT + 1,
];
/** Indices of all terms that contain a token moment. */
export const MOMENT_TERMS: readonly number[] = [MEAN_TERM, SPREAD_TERM, 6];

/**
 * Writes the regression terms of a pair's shape at `start`: lengths, moments and two products of them.
 * Shape  writes shapeTermCount(scales) elements
 * Unit   standardised covariates, and their products
 * Range  each covariate is clipped to the range of the calibration sample
 */
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

/**
 * Writes all regression terms of a pair at `start`: shape terms, sum and product of the two hubnesses, hubness
 * components, and promiscuity.
 * Shape  writes nullTermCount(scales) elements
 * Unit   standardised covariates, and their products
 * Range  each covariate is clipped to the range of the calibration sample
 */
export function nullTerms(
  pair: NullPair,
  { shape, hubness, hubnessComponents, promiscuity }: NullScales,
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
    (scale, at) =>
      (terms[start + HUBNESS_COMPONENT_TERM + at] = standardised(pair.hubnessComponents[at], scale)),
  );
  if (promiscuity === undefined) return;
  const standard = standardised(pair.promiscuity, promiscuity);
  const at = start + promiscuityTerm(shape);
  terms[at] = standard;
  terms[at + 1] = Math.max(0, standard);
}

/** Weight of the mean closest cosine in the evidence, relative to the affine score. */
const CLOSENESS_WEIGHT = 3;

/**
 * Combines the Smith–Waterman score and the MaxSim similarity of a pair. Scores of unrelated proteins grow more slowly
 * than the lengths. Divided by the square root of the lengths' geometric mean, with a little similarity added, they
 * have an upper tail whose rate does not depend on the lengths.
 * Unit   affine score ÷ √residues
 */
export function pairEvidence(
  pair: PairShape,
  { affineScore, meanClosestCosine, profileScore }: PairScore,
  weights: ScoreWeights,
): number {
  const affine = affineScore / Math.sqrt(Math.sqrt(pair.queryLength * pair.targetLength));
  const closeness = CLOSENESS_WEIGHT * weights.scorePerCosine * meanClosestCosine;
  return affine + closeness + weights.profileScore * profileEvidence(pair, profileScore);
}

/** Units of a profile score in a bit. */
const PROFILE_SCORE_UNITS = 16;
/** Bits beyond ln(m · n) that some 4 % of unrelated pairs with homologs exceed, for proteins of any length. */
const CHANCE_BITS = 18;
/** Share of the shorter protein's columns that gain by composition. With it, as many pairs exceed at any of them. */
const COMPOSED_SHARE = 0.5;
/** ln of the effective number of sequences from which on the profile score counts fully. */
const LOG_ENOUGH_SEQUENCES = Math.log(4);

/**
 * Evidence of the profile score of a pair: the bits that it has beyond chance. Profiles of similar composition have
 * more by chance. With few homologs the score counts less, because it says no more than the affine score then.
 * Unit   bits
 * Range  0 and more
 */
export function profileEvidence(
  { queryLength, targetLength, logProfileMean, logEffective }: PairShape,
  profileScore: number,
): number {
  const bitsOfComposition = Math.max(0, logProfileMean) / Math.LN2;
  const composed = COMPOSED_SHARE * Math.min(queryLength, targetLength) * bitsOfComposition;
  const chance = CHANCE_BITS + Math.log(queryLength * targetLength) + composed;
  const bits = profileScore / PROFILE_SCORE_UNITS - chance;
  return Math.max(0, bits) * Math.min(1, logEffective / LOG_ENOUGH_SEQUENCES);
}

/**
 * Returns the tail coordinate of a pair from its scores.
 * Unit  mean excesses over the fitted quantile
 */
export function tailCoordinate(model: PairNull, pair: NullPair, score: PairScore): number {
  return excessCoordinate(model, pair, pairEvidence(pair, score, model.scores));
}

/**
 * Returns the tail coordinate of the reversed-query control of a pair. Composition, membrane helices, cysteines and
 * repeats do not move it. A lower control would take less off the coordinate of the pair, so that they had no effect.
 * Unit  mean excesses over the fitted quantile
 */
export function controlCoordinate(model: PairNull, pair: NullPair, score: PairScore): number {
  const own = {
    repeats: 0,
    composition: 0,
    queryMembraneShare: 0,
    targetMembraneShare: 0,
    cysteines: undefined,
  };
  return tailCoordinate(model, { ...pair, ...own }, score);
}

/**
 * Returns the tail coordinate of a pair from its evidence.
 * Unit  mean excesses over the fitted quantile
 */
export function excessCoordinate(model: PairNull, pair: NullPair, evidence: number): number {
  nullTerms(pair, model, scratch);
  const excess = evidence - expectedOf(model.weights, scratch);
  const scale = model.scale * Math.exp(rateSlope(model.rate, scratch, slopeTerms(model)));
  const ofComposition = compositionExcess(model.composition, pair);
  const ofMembrane = membraneExcess(model.membrane, pair.queryMembraneShare, pair.targetMembraneShare);
  const coordinate = excess / scale - pair.classBias - pair.repeats - ofComposition - ofMembrane;
  const { weight, usualShare } = model.cysteines;
  if (pair.cysteines === undefined || weight === 0) return coordinate;
  return coordinate - weight * cysteineExcess(pair.cysteines, usualShare);
}

/**
 * Returns the prediction of a linear regression for the terms that begin at `start`.
 * Shape  terms [start + weights.length] or longer
 * Unit   that of the weights
 * Range  any finite number
 */
export function expectedOf(weights: readonly number[], terms: Float64Array, start = 0): number {
  let expected = 0;
  for (let term = 0; term < weights.length; term += 1) expected += weights[term] * terms[start + term];
  return expected;
}

/**
 * Returns ln of the mean excess of a pair, relative to the scale.
 * @param places  index of the term of each slope
 */
export function rateSlope(
  { slopes, slowerShare, shortFactor }: RateModel,
  terms: ArrayLike<number>,
  places: readonly number[],
): number {
  const part = (at: number): number => slopes[at] * terms[places[at]];
  const moments = part(MEAN_SLOPE) + part(SPREAD_SLOPE);
  const length = part(LENGTH_SLOPE);
  // The slope is negative, so that its effect is positive for a pair that is shorter than the mean.
  let slope = length * (length > 0 ? shortFactor : 1) + moments * (moments > 0 ? slowerShare : 1);
  for (let at = PLAIN_SLOPES.length; at < slopes.length; at += 1) slope += part(at);
  return slope;
}

/** Terms of the current pair. One shared buffer avoids an allocation for each of a thousand candidates. */
const scratch = new Float64Array(MOST_TERMS);

function standardised(value: number, scale: CovariateScale): number {
  const clipped = Math.min(scale.maximum, Math.max(scale.minimum, value));
  return (clipped - scale.centre) / scale.spread;
}
