import type { RecallCard } from '../recall/policy-card.js';

/** A relevant target of a query. */
export interface RelevantTarget {
  readonly isRetrieved: boolean;
  /** Number of targets that it stands for, itself included. Range: 1 and more */
  readonly weight: number;
}

/** Two-sided 95 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * Computes the mean recall over queries with its 95 % interval. Queries without relevant targets are left out. A missed
 * target adds the number of targets that it stands for, divided by the estimated number of relevant targets. It counts
 * once in that number, because it was drawn. Without this, a rarely drawn target would seem to be less of a loss than
 * it is.
 * Shape   the relevant targets of each query, as far as they were compared
 * Range   0..1; the interval has a width even if the mean is 0 or 1; without queries it is 0..1 and the mean is 1
 * Source  weights: Horvitz & Thompson 1952; score interval: Wilson 1927, the number of trials is that with the variance
 *         of the queries' recalls
 */
export function recallOf(queries: readonly (readonly RelevantTarget[])[]): RecallCard {
  const counted = queries.filter((relevant) => relevant.length > 0);
  // Less than 0 where a missed target stands for more than all others.
  const shares = counted.map((relevant) => 1 - lossOf(relevant));
  const count = counted.length;
  const average = count === 0 ? 1 : sum(shares) / count;
  const mean = Math.max(0, average);
  const squares = sum(shares.map((share) => (share - average) ** 2));
  const squaredError = count < 2 ? 0 : squares / (count - 1) / count;
  const trials = squaredError === 0 ? count : Math.max(1, (mean * (1 - mean)) / squaredError);
  const { low, high } = count === 0 ? { low: 0, high: 1 } : wilson(mean, trials);
  return {
    query_count: count,
    wanted_count: sum(counted.map((relevant) => relevant.length)),
    found_count: sum(counted.map((relevant) => relevant.filter(({ isRetrieved }) => isRetrieved).length)),
    mean,
    low,
    high,
  };
}

/** Estimates the share of the relevant targets that is missed. Range: 0 and more */
function lossOf(relevant: readonly RelevantTarget[]): number {
  const total = sum(relevant.map(({ weight }) => weight));
  return sum(relevant.map(({ isRetrieved, weight }) => (isRetrieved ? 0 : weight / (total - weight + 1))));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function wilson(share: number, trials: number): { low: number; high: number } {
  const square = Z * Z;
  const centre = (share + square / (2 * trials)) / (1 + square / trials);
  const half =
    (Z * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials * trials))) / (1 + square / trials);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
