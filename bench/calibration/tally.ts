/** E-values at which observed and expected numbers of false hits per query are compared. */
export const THRESHOLDS: readonly number[] = [10, 1, 0.1, 0.01, 0.001];

/** Counts of one stratum, per threshold. */
interface Stratum {
  readonly expected: number[];
  readonly observed: number[];
}

/** Observed and expected false hits, by stratum. */
export interface Tally {
  /** Adds the expected false hits of one query, of whose targets this share belongs to the stratum. Default: 1 */
  expect(stratum: string, share?: number): void;
  /** Adds a false pair with this ln E to the stratum. */
  observe(stratum: string, logEValue: number): void;
  /** Returns observed ÷ expected by stratum and threshold. */
  ratios(): Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Returns the table with expected counts. A mark shows each ratio outside the bounds. */
  lines(searchedTargets: number): readonly string[];
}

const BOUNDS = { low: 0.5, high: 2, smallestEValue: 50, largestShare: 0.01 };

/** Creates an empty tally. */
export function createTally(): Tally {
  const strata = new Map<string, Stratum>();
  const stratumOf = (name: string): Stratum => {
    const stratum = strata.get(name) ?? {
      expected: THRESHOLDS.map(() => 0),
      observed: THRESHOLDS.map(() => 0),
    };
    strata.set(name, stratum);
    return stratum;
  };
  return {
    expect(name, share = 1) {
      const { expected } = stratumOf(name);
      THRESHOLDS.forEach((threshold, index) => (expected[index] += share * threshold));
    },
    observe(name, logEValue) {
      const { observed } = stratumOf(name);
      THRESHOLDS.forEach((threshold, index) => {
        if (logEValue <= Math.log(threshold)) observed[index] += 1;
      });
    },
    ratios: () =>
      Object.fromEntries(
        [...strata].map(([name, { expected, observed }]) => [
          name,
          Object.fromEntries(
            THRESHOLDS.map((threshold, index) => [threshold, observed[index] / expected[index]]),
          ),
        ]),
      ),
    lines: (searchedTargets) =>
      [...strata].map(([name, { expected, observed }]) => {
        const cells = THRESHOLDS.map((threshold, index) => {
          const ratio = observed[index] / expected[index];
          const { low, high, smallestEValue, largestShare } = BOUNDS;
          const isBounded = expected[index] >= smallestEValue && threshold <= largestShare * searchedTargets;
          const mark = isBounded && (ratio < low || ratio > high) ? '!' : ' ';
          return `${ratio.toFixed(2)}${mark}(${expected[index].toFixed(0)})`.padStart(14);
        });
        return `  ${name.padEnd(28)}${cells.join('')}`;
      }),
  };
}

/** Pairs pooled over all queries and ranked by score, down to a given number of false pairs. */
export interface Ranking {
  /** Adds a pair. Higher scores are better. */
  add(score: number, isTrue: boolean): void;
  /** Returns the share of all true pairs that rank above the last counted false pair. Range: 0..1 */
  sensitivity(trueCount: number): number;
}

interface RankedPair {
  readonly score: number;
  readonly isTrue: boolean;
}

/** Number of pairs that a ranking adds between two sorts. */
const UNSORTED_PAIRS = 200_000;

/**
 * Creates a ranking in bounded memory. Pairs below the last counted false pair are dropped, because they never count.
 */
export function createRanking(falseCount: number): Ranking {
  let pairs: RankedPair[] = [];
  let sortedCount = 0;
  const sortAndDrop = (): void => {
    // Among equal scores false pairs come first, so that ties do not raise the sensitivity.
    pairs.sort((a, b) => b.score - a.score || Number(a.isTrue) - Number(b.isTrue));
    let wrong = 0;
    const last = pairs.findIndex(({ isTrue }) => !isTrue && (wrong += 1) >= falseCount);
    if (last >= 0) pairs = pairs.slice(0, last + 1);
    sortedCount = pairs.length;
  };
  return {
    add(score, isTrue) {
      pairs.push({ score, isTrue });
      if (pairs.length >= sortedCount + UNSORTED_PAIRS) sortAndDrop();
    },
    sensitivity(trueCount) {
      sortAndDrop();
      return pairs.filter(({ isTrue }) => isTrue).length / trueCount;
    },
  };
}
