/**
 * Largest distance between the empirical distribution of a sample and a continuous model: an effect size.
 * Shape   sample in any order; `cumulative` the model's distribution function over the same range
 * Range   0..1; 1 for an empty sample, because nothing speaks for the model
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
 * Chance of a distance at least this large if the model were true.
 * Range   0..1; accurate to a few per cent for 20 values and more
 * Source  limiting distribution with Stephens' correction for small samples (1970)
 */
export function kolmogorovProbability(distance: number, sampleCount: number): number {
  if (sampleCount === 0) return 1;
  const root = Math.sqrt(sampleCount);
  const scaled = (root + 0.12 + 0.11 / root) * distance;
  // Below this the series needs many terms and the answer is 1 to all digits shown.
  if (scaled < 0.2) return 1;
  let sum = 0;
  for (let term = 1; term <= 100; term += 1) {
    const part = Math.exp(-2 * term * term * scaled * scaled);
    sum += term % 2 === 1 ? part : -part;
    if (part < 1e-16) break;
  }
  return Math.min(1, Math.max(0, 2 * sum));
}
