/** Expected numbers of false hits a query at which claims are held against what is found. */
export const THRESHOLDS: readonly number[] = [10, 1, 0.1, 0.01, 0.001];

/** Counts of one stratum, per threshold. */
interface Stratum {
  readonly expected: number[];
  readonly observed: number[];
}

/** Observed and expected false hits, by stratum. */
export interface Tally {
  /** A query whose share of searched targets belongs to the stratum: so many false hits are expected there. */
  expect(stratum: string, share?: number): void;
  /** A false pair of the stratum with this ln E. */
  observe(stratum: string, logEValue: number): void;
  /** Observed ÷ expected by stratum and threshold. */
  ratios(): Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The table, with expected counts, and a mark where a bar is broken. */
  lines(searchedTargets: number): readonly string[];
}

const STRATUM_BAR = { low: 0.5, high: 2, smallestEValue: 50, largestShare: 0.01 };

export function createTally(): Tally {
  const strata = new Map<string, Stratum>();
  const stratumOf = (name: string): Stratum => {
    const known = strata.get(name) ?? {
      expected: THRESHOLDS.map(() => 0),
      observed: THRESHOLDS.map(() => 0),
    };
    strata.set(name, known);
    return known;
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
          const { low, high, smallestEValue, largestShare } = STRATUM_BAR;
          const isHeld = expected[index] >= smallestEValue && threshold <= largestShare * searchedTargets;
          const mark = isHeld && (ratio < low || ratio > high) ? '!' : ' ';
          return `${ratio.toFixed(2)}${mark}(${expected[index].toFixed(0)})`.padStart(14);
        });
        return `  ${name.padEnd(28)}${cells.join('')}`;
      }),
  };
}

/** True and false pairs by score, pooled over all queries, down to the last false one that counts. */
export interface Ranking {
  /** Higher scores are better. */
  add(score: number, isTrue: boolean): void;
  /** Share of all true pairs that stand in the list before it holds as many false ones as count. */
  sensitivity(trueCount: number): number;
}

interface RankedPair {
  readonly score: number;
  readonly isTrue: boolean;
}

/** Pairs that a ranking takes in before it drops those that can no longer count. */
const UNSORTED_PAIRS = 200_000;

/** A ranking that holds a bounded part of all pairs: what has enough false ones above it never counts again. */
export function createRanking(falseCount: number): Ranking {
  let pairs: RankedPair[] = [];
  let sortedCount = 0;
  const sortAndDrop = (): void => {
    // Of equal scores the false ones come first: ties must not help.
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
