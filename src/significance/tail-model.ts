import { kolmogorovDistance } from './kolmogorov.js';

/**
 * Upper tail of the null distribution: P(score ≥ x) for x at or above the threshold. The excesses follow a generalised
 * Pareto distribution, which is exponential if the shape is 0.
 * Unit    scores in tail coordinates; probabilities as natural logarithms
 * Source  peaks over threshold (Pickands 1975)
 */
export interface TailModel {
  readonly threshold: number;
  /** ln P(score ≥ threshold). */
  readonly logExceedanceProbability: number;
  /** Rate at which the tail falls at the threshold, in nats per score unit. */
  readonly lambda: number;
  /** Shape of the generalised Pareto: 0 is exponential, above 0 heavier; below 0 the tail ends at a finite score. */
  readonly shape: number;
}

/**
 * Returns ln P(score ≥ x) of the tail.
 * Range  score ≥ threshold; −∞ beyond the end of a tail with negative shape
 */
export function tailLogProbability(model: TailModel, score: number): number {
  const nats = model.lambda * (score - model.threshold);
  return model.logExceedanceProbability - excessNats(model.shape, nats);
}

/**
 * Returns the exponential k · e^(−λ · score) that is tangent to the tail at this score. For an exponential tail it is
 * the tail itself.
 * Unit  λ in nats per score unit; k as its natural logarithm
 */
export function tangentAt(model: TailModel, score: number): { lambda: number; logK: number } {
  const stretch = 1 + model.shape * model.lambda * (score - model.threshold);
  const lambda = model.lambda / stretch;
  return { lambda, logK: tailLogProbability(model, score) + lambda * score };
}

/**
 * Evaluates the tail down to ln P `lowest`, and beyond it the tangent exponential. The tangent never reaches zero, so
 * that high scores stay in order for every shape.
 * @param lowest  ln P of the point where the tangent replaces the tail
 */
export function continuedTail(
  model: TailModel,
  score: number,
  lowest: number,
): { logProbability: number; isBeyond: boolean; tangent: { lambda: number; logK: number } } {
  const logProbability = tailLogProbability(model, score);
  if (logProbability > lowest) return { logProbability, isBeyond: false, tangent: tangentAt(model, score) };
  const tangent = tangentAt(model, scoreAt(model, lowest));
  return { logProbability: tangent.logK - tangent.lambda * score, isBeyond: true, tangent };
}

/** Returns the score at which the tail reaches ln P. Range: logP finite, at most that of the threshold */
function scoreAt({ threshold, logExceedanceProbability, lambda, shape }: TailModel, logP: number): number {
  const fallen = logExceedanceProbability - logP;
  return threshold + (shape === 0 ? fallen : Math.expm1(shape * fallen) / shape) / lambda;
}

/** Returns −ln of the survival function of the generalised Pareto at `nats` = λ · excess. */
function excessNats(shape: number, nats: number): number {
  if (shape === 0) return nats;
  return 1 + shape * nats <= 0 ? Infinity : Math.log1p(shape * nats) / shape;
}

/** Excesses above a threshold, up to a ceiling. Pairs above the ceiling are almost always homologs. */
export interface CeiledExcesses {
  /** Each in [0, ceiling]. */
  readonly excesses: Float64Array;
  readonly ceiling: number;
}

/**
 * A mixture of two tails fitted to exceedances. The first component is the null. The second, of undetected homologs,
 * falls far more slowly.
 */
export interface TailFit {
  /** Rate of the null component. Unit: nats per score unit. */
  readonly lambda: number;
  /** Shape of the null component. */
  readonly shape: number;
  /** Share of homologs among the excesses below the ceiling. Range: 0..1 */
  readonly homologShare: number;
  /** Rate of the homolog component, an exponential. Unit: nats per score unit. */
  readonly homologLambda: number;
}

/**
 * Smallest ratio of the homologs' mean excess to that of unrelated pairs. With a ratio of 2, the fit to a sample of
 * 1,100 domains assigned a sixth of the unrelated exceedances to homologs. On SCOPe domains the fitted ratio is 2.5.
 */
const FEWEST_RATE_RATIO = 2.5;
const FIRST_HOMOLOG_SHARE = 0.05;
const FIRST_RATE_RATIO = 8;
/** Expectation maximisation converges slowly: on real proteins after one to two thousand steps. */
const EXPECTATION_STEPS = 2_500;
const SHARE_TOLERANCE = 1e-7;

/**
 * Fits the mixture by maximum likelihood, truncated at the ceiling. The null component is exponential, or generalised
 * Pareto if the likelihood-ratio test prefers it.
 * Shape   excesses [any length]
 * Unit    score units
 * Range   excesses in 0..ceiling
 * Errors  returns undefined if the density of the excesses does not fall below the ceiling, so that no tail can be
 * fitted
 * Source  expectation maximisation (Dempster, Laird & Rubin 1977) with truncated densities
 */
export function fitTail({ excesses, ceiling }: CeiledExcesses): TailFit | undefined {
  const everything = new Float64Array(excesses.length).fill(1);
  const first = truncatedRate(excesses, everything, ceiling);
  if (first === undefined) return undefined;
  let lambda = first;
  let homologShare = FIRST_HOMOLOG_SHARE;
  let homologLambda = lambda / FIRST_RATE_RATIO;
  const nullWeights = new Float64Array(excesses.length);
  const homologWeights = new Float64Array(excesses.length);
  for (let step = 0; step < EXPECTATION_STEPS; step += 1) {
    const before = homologShare;
    let homologWeight = 0;
    for (let index = 0; index < excesses.length; index += 1) {
      const unrelated = (1 - homologShare) * truncatedDensity(lambda, excesses[index], ceiling);
      const homologous = homologShare * truncatedDensity(homologLambda, excesses[index], ceiling);
      homologWeights[index] = homologous / (unrelated + homologous);
      nullWeights[index] = 1 - homologWeights[index];
      homologWeight += homologWeights[index];
    }
    homologShare = homologWeight / excesses.length;
    const next = truncatedRate(excesses, nullWeights, ceiling);
    if (next === undefined) return undefined;
    lambda = next;
    const slower = truncatedRate(excesses, homologWeights, ceiling) ?? SLOWEST_FALL / ceiling;
    homologLambda = Math.min(slower, lambda / FEWEST_RATE_RATIO);
    if (Math.abs(homologShare - before) < SHARE_TOLERANCE) break;
  }
  if (lambda * ceiling < FEWEST_FALLS) return undefined;
  const pareto = preferredPareto(excesses, nullWeights, ceiling, lambda);
  return { lambda: pareto?.lambda ?? lambda, shape: pareto?.shape ?? 0, homologShare, homologLambda };
}

/**
 * Fits one exponential to all excesses, truncated at the ceiling. Below a low ceiling homologs have little weight, and
 * they can only make the fitted tail heavier.
 * Errors  returns undefined if the density of the excesses does not fall below the ceiling
 */
export function fitExponential({ excesses, ceiling }: CeiledExcesses): TailFit | undefined {
  const lambda = truncatedRate(excesses, new Float64Array(excesses.length).fill(1), ceiling);
  if (lambda === undefined || lambda * ceiling < FEWEST_FALLS) return undefined;
  return { lambda, shape: 0, homologShare: 0, homologLambda: lambda };
}

/** Returns the distribution function of the null component: the share of unrelated exceedances below an excess. */
export function massBelow({ lambda, shape }: Pick<TailFit, 'lambda' | 'shape'>, excess: number): number {
  return -Math.expm1(-excessNats(shape, lambda * excess));
}

/**
 * Returns the Kolmogorov–Smirnov distance between the mixture, truncated at the ceiling, and held-out excesses.
 * Range  0..1; 1 without excesses
 */
export function holdoutDistance(fit: TailFit, sample: CeiledExcesses): number {
  const { ceiling, excesses } = sample;
  const homologs = { lambda: fit.homologLambda, shape: 0 };
  const cumulative = (excess: number): number =>
    ((1 - fit.homologShare) * massBelow(fit, excess)) / massBelow(fit, ceiling) +
    (fit.homologShare * massBelow(homologs, excess)) / massBelow(homologs, ceiling);
  return kolmogorovDistance(excesses, cumulative);
}

/** A density that falls by fewer e-folds within the ceiling does not count as a tail. */
const FEWEST_FALLS = 2;
/** Bounds of the search for a rate, in e-folds within the ceiling. */
const SLOWEST_FALL = 1e-3;
const FASTEST_FALL = 1e3;
const BISECTION_STEPS = 60;

function truncatedDensity(rate: number, excess: number, ceiling: number): number {
  return (rate * Math.exp(-rate * excess)) / -Math.expm1(-rate * ceiling);
}

/** Mean of an exponential, truncated at 1, that falls by so many e-folds up to there. */
function truncatedMean(falls: number): number {
  return 1 / falls - 1 / Math.expm1(falls);
}

/**
 * Fits the rate of an exponential truncated at a ceiling to the weighted mean.
 * Errors  returns undefined if the mean is too large or too small for a rate within the bounds of the search
 */
function truncatedRate(excesses: Float64Array, weights: Float64Array, ceiling: number): number | undefined {
  let weight = 0;
  let sum = 0;
  for (let index = 0; index < excesses.length; index += 1) {
    sum += weights[index] * excesses[index];
    weight += weights[index];
  }
  const mean = sum / weight / ceiling;
  if (!(mean < truncatedMean(SLOWEST_FALL)) || !(mean > truncatedMean(FASTEST_FALL))) return undefined;
  let [low, high] = [SLOWEST_FALL, FASTEST_FALL];
  for (let step = 0; step < BISECTION_STEPS; step += 1) {
    const middle = Math.sqrt(low * high);
    if (truncatedMean(middle) > mean) low = middle;
    else high = middle;
  }
  return Math.sqrt(low * high) / ceiling;
}

const SHAPE_LIMIT = 0.5;
const SHAPE_STEPS = 25;
const RATE_STEPS = 30;
/** Critical value of the likelihood-ratio test: probability 0.001 (χ² with one degree of freedom). */
const SHAPE_GAIN = 10.83;

/** Fits a generalised Pareto to the null component. Returns undefined unless it beats the exponential significantly. */
function preferredPareto(
  excesses: Float64Array,
  weights: Float64Array,
  ceiling: number,
  lambda: number,
): { lambda: number; shape: number } | undefined {
  const value = (logRate: number, shape: number): number => {
    const rate = Math.exp(logRate);
    const logMass = Math.log(massBelow({ lambda: rate, shape }, ceiling));
    let sum = 0;
    for (let index = 0; index < excesses.length; index += 1) {
      const stretch = 1 + shape * rate * excesses[index];
      if (stretch <= 0) return -Infinity;
      const logDensity = shape === 0 ? rate * excesses[index] : (1 + 1 / shape) * Math.log(stretch);
      sum += weights[index] * (logRate - logMass - logDensity);
    }
    return sum;
  };
  const centre = Math.log(lambda);
  const bestRate = (shape: number): number =>
    maximise((logRate) => value(logRate, shape), centre - 1, centre + 1, RATE_STEPS);
  const shape = maximise(
    (candidate) => value(bestRate(candidate), candidate),
    -SHAPE_LIMIT,
    SHAPE_LIMIT,
    SHAPE_STEPS,
  );
  const logRate = bestRate(shape);
  const gain = 2 * (value(logRate, shape) - value(centre, 0));
  return gain > SHAPE_GAIN ? { lambda: Math.exp(logRate), shape } : undefined;
}

/**
 * Returns the argument at which a unimodal function is largest.
 * Range   low..high; the error is at most (high − low) × 0.618^steps ÷ 2
 * Source  golden-section search (Kiefer 1953)
 */
export function maximise(value: (at: number) => number, low: number, high: number, steps: number): number {
  const share = (Math.sqrt(5) - 1) / 2;
  let [left, right] = [high - share * (high - low), low + share * (high - low)];
  let [atLeft, atRight] = [value(left), value(right)];
  for (let step = 0; step < steps; step += 1) {
    if (atLeft < atRight) {
      [low, left, atLeft] = [left, right, atRight];
      right = low + share * (high - low);
      atRight = value(right);
    } else {
      [high, right, atRight] = [right, left, atLeft];
      left = high - share * (high - low);
      atLeft = value(left);
    }
  }
  return (low + high) / 2;
}
