import type { RecallCard } from '../recall/policy-card.js';

/** Numbers of relevant targets of one query, and of those that the policy retrieves. */
export interface RetrievedCounts {
  readonly relevantCount: number;
  readonly retrievedCount: number;
}

/** Two-sided 95 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * Computes the mean recall over queries with its 95 % interval. Queries without relevant targets are left out.
 * Range   0..1; the interval has a width even if the mean is 0 or 1; without queries it is 0..1 and the mean is 1
 * Source  score interval (Wilson 1927); the number of trials is that with the variance of the queries' recalls
 */
export function recallOf(queries: readonly RetrievedCounts[]): RecallCard {
  const counted = queries.filter(({ relevantCount }) => relevantCount > 0);
  const shares = counted.map(({ relevantCount, retrievedCount }) => retrievedCount / relevantCount);
  const count = counted.length;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const mean = count === 0 ? 1 : sum(shares) / count;
  const squares = sum(shares.map((share) => (share - mean) ** 2));
  const squaredError = count < 2 ? 0 : squares / (count - 1) / count;
  const trials = squaredError === 0 ? count : Math.max(count, (mean * (1 - mean)) / squaredError);
  const { low, high } = count === 0 ? { low: 0, high: 1 } : wilson(mean, trials);
  return {
    query_count: count,
    wanted_count: sum(counted.map(({ relevantCount }) => relevantCount)),
    found_count: sum(counted.map(({ retrievedCount }) => retrievedCount)),
    mean,
    low,
    high,
  };
}

function wilson(share: number, trials: number): { low: number; high: number } {
  const square = Z * Z;
  const centre = (share + square / (2 * trials)) / (1 + square / trials);
  const half =
    (Z * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials * trials))) / (1 + square / trials);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
