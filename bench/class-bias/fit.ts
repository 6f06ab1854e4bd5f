import type { ClassBias } from '../../src/significance/moment-weights.js';
import { weightedLeastSquares } from '../../src/fit-significance/statistics/linear-quantile.js';

/** Counts of unrelated targets vary more than those of independent ones: variance = mean · (1 + this · mean). */
const OVERDISPERSION = 0.5;
/** Ridge penalty on the weight of a moment with unit variance, in queries. */
const RIDGE = 300;
const ROUNDS = 15;
/** Largest size of the fitted ln of a ratio, within a round. */
const LARGEST_LOG = 3;
/** A query with more counts than this multiple of the claimed, and ten, says no more than one with so many. */
const LARGEST_RATIO = 5;
const FEW = 10;
/** Of the labelled domains, this share has a class bias of at most the largest. */
const BOUND_SHARE = 0.99;
/**
 * Each protein of a pair has this share of what is fitted to queries. The level of a database is measured at larger
 * E-values, where the classes differ less. A whole share raises it, and E-values of all classes with it.
 */
const SHARE = 0.4;
/** Smallest class bias. Some long natural proteins with repeats, unlike labelled domains, would have less. */
const SMALLEST = -0.32;

/** Labelled queries: the moments of their tokens, and how many unrelated targets they find up to an E-value. */
export interface BiasSample {
  /** [query][moment]; mean token, then sketch */
  readonly moments: readonly Float64Array[];
  readonly counts: readonly number[];
  /** The E-value: what each count should be. */
  readonly claimed: number;
  /** Moments of the mean token. */
  readonly dimension: number;
}

/**
 * Fits the class bias: a Poisson regression of the counts on the moments, with a ridge penalty.
 * Unit    ln of found ÷ claimed, per unit of a moment
 * Source  iteratively reweighted least squares (McCullagh & Nelder 1989)
 */
export function fitClassBias({ moments, counts, claimed, dimension }: BiasSample): ClassBias {
  const size = moments[0].length;
  const { centres, spreads } = scalesOf(moments);
  const termCount = size + 1;
  // The penalty is one row for each weight, whose value is 0.
  const rows = moments.length + size;
  const terms = new Float64Array(rows * termCount);
  moments.forEach((values, row) => {
    terms[row * termCount] = 1;
    for (let at = 0; at < size; at += 1)
      terms[row * termCount + 1 + at] = (values[at] - centres[at]) / spreads[at];
  });
  for (let at = 0; at < size; at += 1) terms[(moments.length + at) * termCount + 1 + at] = 1;
  const capped = counts.map((count) => Math.min(count, LARGEST_RATIO * claimed + FEW));
  const values = new Float64Array(rows);
  const weights = new Float64Array(rows).fill(RIDGE, moments.length);
  let fitted: Float64Array = new Float64Array(termCount);
  for (let round = 0; round < ROUNDS; round += 1) {
    capped.forEach((count, row) => {
      let log = 0;
      for (let term = 0; term < termCount; term += 1) log += fitted[term] * terms[row * termCount + term];
      const bounded = Math.max(-LARGEST_LOG, Math.min(LARGEST_LOG, log));
      const mean = claimed * Math.exp(bounded);
      weights[row] = mean / (1 + OVERDISPERSION * mean);
      values[row] = bounded + (count - mean) / mean;
    });
    fitted = weightedLeastSquares(terms, values, weights, termCount);
  }
  const slopes = Array.from({ length: size }, (_, at) => (SHARE * fitted[1 + at]) / spreads[at]);
  const offset = -slopes.reduce((sum, slope, at) => sum + slope * centres[at], 0);
  const biases = moments
    .map((of) => slopes.reduce((sum, slope, at) => sum + slope * of[at], offset))
    .sort((a, b) => a - b);
  return {
    meanWeights: slopes.slice(0, dimension),
    sketchWeights: slopes.slice(dimension),
    offset,
    smallest: SMALLEST,
    largest: biases[Math.floor(BOUND_SHARE * (biases.length - 1))],
  };
}

/** Mean and standard deviation of each moment. */
function scalesOf(moments: readonly Float64Array[]) {
  const size = moments[0].length;
  const [centres, spreads] = [new Float64Array(size), new Float64Array(size)];
  for (const values of moments) values.forEach((value, at) => (centres[at] += value / moments.length));
  for (const values of moments) {
    values.forEach((value, at) => (spreads[at] += (value - centres[at]) ** 2 / moments.length));
  }
  return { centres, spreads: spreads.map((variance) => Math.sqrt(variance) || 1) };
}
