/**
 * Returns the Kolmogorov–Smirnov distance between a sample and a continuous distribution.
 * @param cumulative  distribution function of the model
 * Shape   sample [any length], in any order
 * Unit    that of the model's argument in; a difference of probabilities out
 * Range   0..1; 1 for an empty sample, which is no evidence for the model
 * Source  Kolmogorov 1933, Smirnov 1939
 */
export function kolmogorovDistance(sample: Float64Array, cumulative: (value: number) => number): number {
  const sorted = sample.slice().sort();
  if (sorted.length === 0) return 1;
  let largest = 0;
  for (let index = 0; index < sorted.length; index += 1) {
    const expected = cumulative(sorted[index]);
    const below = expected - index / sorted.length;
    const above = (index + 1) / sorted.length - expected;
    largest = Math.max(largest, below, above);
  }
  return largest;
}

/**
 * Returns the probability of a Kolmogorov–Smirnov distance at least this large under the model.
 * Range   0..1; accurate to a few per cent for 20 values and more; 1 without values
 * Source  limiting distribution with Stephens' correction for small samples (1970)
 */
export function kolmogorovProbability(distance: number, sampleCount: number): number {
  if (sampleCount === 0) return 1;
  const root = Math.sqrt(sampleCount);
  const scaled = (root + 0.12 + 0.11 / root) * distance;
  // Below 0.2 the series converges slowly, and the result is 1 to all printed digits.
  if (scaled < 0.2) return 1;
  let sum = 0;
  for (let term = 1; term <= 100; term += 1) {
    const part = Math.exp(-2 * term * term * scaled * scaled);
    sum += term % 2 === 1 ? part : -part;
    if (part < 1e-16) break;
  }
  return Math.min(1, Math.max(0, 2 * sum));
}

/** 95 % quantile of √count × distance under the true model. Source: Kolmogorov's distribution. */
const CHANCE_DISTANCE = 1.36;

/** Returns the Kolmogorov–Smirnov distance that chance exceeds once in twenty samples of so many values. */
export function chanceDistance(sampleCount: number): number {
  return CHANCE_DISTANCE / Math.sqrt(sampleCount);
}
