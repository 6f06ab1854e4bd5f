import type { RecallCard } from '../recall/policy-card.js';

/** How much of what one query wants was found. */
export interface Found {
  readonly wantedCount: number;
  readonly foundCount: number;
}

/** Two-sided 95 % of a normal distribution. */
const Z = 1.959963984540054;

/**
 * Mean over queries of the share that was found of what each wants; queries that want nothing say nothing.
 * Range   the 95 % interval lies in 0..1 and has a width even where all was found; without queries it is all of 0..1
 * Source  Wilson 1927, at as many independent trials as would scatter like the queries' shares
 */
export function recallOf(queries: readonly Found[]): RecallCard {
  const asked = queries.filter(({ wantedCount }) => wantedCount > 0);
  const shares = asked.map(({ wantedCount, foundCount }) => foundCount / wantedCount);
  const count = asked.length;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const mean = count === 0 ? 1 : sum(shares) / count;
  const squares = sum(shares.map((share) => (share - mean) ** 2));
  const squaredError = count < 2 ? 0 : squares / (count - 1) / count;
  const trials = squaredError === 0 ? count : Math.max(count, (mean * (1 - mean)) / squaredError);
  const { low, high } = count === 0 ? { low: 0, high: 1 } : wilson(mean, trials);
  return {
    query_count: count,
    wanted_count: sum(asked.map(({ wantedCount }) => wantedCount)),
    found_count: sum(asked.map(({ foundCount }) => foundCount)),
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
