import type { DomainLabel } from '../tools/labels.js';
import type { Truths } from '../tools/truth.js';

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
  /** Returns a head and one line per stratum with expected counts. A mark shows each ratio outside the bounds. */
  lines(searchedTargets: number): readonly string[];
}

const NAME_WIDTH = 36;
const CELL_WIDTH = 14;
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
    lines: (searchedTargets) => [
      `  ${''.padEnd(NAME_WIDTH)}${THRESHOLDS.map((threshold) => String(threshold).padStart(CELL_WIDTH)).join('')}`,
      ...[...strata].map(([name, { expected, observed }]) => {
        const cells = THRESHOLDS.map((threshold, index) => {
          const ratio = observed[index] / expected[index];
          const { low, high, smallestEValue, largestShare } = BOUNDS;
          const isBounded = expected[index] >= smallestEValue && threshold <= largestShare * searchedTargets;
          const mark = isBounded && (ratio < low || ratio > high) ? '!' : ' ';
          return `${ratio.toFixed(2)}${mark}(${expected[index].toFixed(0)})`.padStart(CELL_WIDTH);
        });
        return `  ${name.padEnd(NAME_WIDTH)}${cells.join('')}`;
      }),
    ],
  };
}

/** Counts of labelled domains. Each stratum has a row for SCOPe's truth and a row `…, curated`. */
export interface DomainTally {
  /** Adds the expected false hits of one query to these strata. Default share: 1 */
  expect(strata: readonly string[], share?: number): void;
  /**
   * Counts a hit under both truths, if its pair is false. A hit without an E-value does not count.
   */
  observe(
    query: DomainLabel,
    target: DomainLabel,
    logEValue: number | undefined,
    strata: readonly string[],
  ): void;
}

/** Creates the counts of labelled domains as rows of a tally. */
export function createDomainTally(tally: Tally, truths: Truths): DomainTally {
  const rows = [
    { truth: truths.scope, nameOf: (stratum: string) => stratum },
    { truth: truths.curated, nameOf: curatedName },
  ];
  return {
    expect(strata, share) {
      for (const stratum of strata) for (const { nameOf } of rows) tally.expect(nameOf(stratum), share);
    },
    observe(query, target, logEValue, strata) {
      if (logEValue === undefined) return;
      for (const { truth, nameOf } of rows) {
        if (truth.kindOf(query, target) !== 'false') continue;
        for (const stratum of strata) tally.observe(nameOf(stratum), logEValue);
      }
    },
  };
}

/** Returns the name of a stratum's row under the curated truth. */
export function curatedName(stratum: string): string {
  return `${stratum}, curated`;
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
