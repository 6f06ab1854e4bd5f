import type { ProjectedMoments } from '../significance/moments.js';
import { momentSum, type MomentWeights } from '../significance/moment-weights.js';
import { EXCEEDANCE_SHARE } from './fit.js';
import { withPromiscuities, type HubnessSample } from './hubness.js';
import { ROLE_FIT, type NullSample } from './sample.js';
import { weightedLeastSquares } from './statistics/linear-quantile.js';
import { isSmallSample } from './tail.js';

/** Exceedances that are added to the observed and to the expected number, so that few of them say little. */
const PRIOR_EXCEEDANCES = 5;

/**
 * Fits the promiscuity model to the fitted proteins: a linear regression of ln(observed ÷ expected exceedances) on the
 * token moments. Returns undefined for a small sample, whose regression would be noise.
 * Shape   moments [sample.proteinCount]; coordinates [sample.pairCount]
 * Unit    tail coordinates of a null without promiscuity
 * Source  linear least squares
 * @param isLeftOut  whether a pair may be homologous
 */
export function fitPromiscuity(
  sample: Omit<NullSample, 'shapeAt'>,
  moments: readonly ProjectedMoments[],
  coordinates: Float64Array,
  isLeftOut: (pair: number) => boolean,
): MomentWeights | undefined {
  const { proteinCount, pairCount, firsts, seconds, roles, fitPairs } = sample;
  if (isSmallSample(pairCount)) return undefined;
  const [pairs, exceedances] = [new Float64Array(proteinCount), new Float64Array(proteinCount)];
  for (const pair of fitPairs) {
    if (isLeftOut(pair)) continue;
    const exceeding = coordinates[pair] > 0 ? 1 : 0;
    for (const protein of [firsts[pair], seconds[pair]]) {
      pairs[protein] += 1;
      exceedances[protein] += exceeding;
    }
  }
  const fitted = Array.from(roles.keys()).filter((protein) => roles[protein] === ROLE_FIT);
  const [dimension, rank] = [moments[0].mean.length, moments[0].sketch.length];
  const termCount = 1 + dimension + rank;
  const terms = new Float64Array(fitted.length * termCount);
  fitted.forEach((protein, row) => {
    const start = row * termCount;
    terms[start] = 1;
    terms.set(moments[protein].mean, start + 1);
    terms.set(moments[protein].sketch, start + 1 + dimension);
  });
  const values = Float64Array.from(fitted, (protein) =>
    Math.log(
      (exceedances[protein] + PRIOR_EXCEEDANCES) / (EXCEEDANCE_SHARE * pairs[protein] + PRIOR_EXCEEDANCES),
    ),
  );
  const equal = new Float64Array(fitted.length).fill(1);
  const [, ...weights] = weightedLeastSquares(terms, values, equal, termCount);
  if (!weights.every(Number.isFinite)) return undefined;
  return { meanWeights: weights.slice(0, dimension), sketchWeights: weights.slice(dimension) };
}

/** Returns the sample with the promiscuity of each protein; unchanged without model. */
export function withPromiscuity(
  sample: HubnessSample,
  moments: readonly ProjectedMoments[],
  model: MomentWeights | undefined,
): HubnessSample {
  if (model === undefined) return sample;
  return withPromiscuities(
    sample,
    Float64Array.from(moments, (protein) => momentSum(model, protein)),
  );
}
