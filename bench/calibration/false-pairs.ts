import type { DomainLabel } from '../tools/labels.js';

/*
 * The false pairs with the smallest E-values. Many are homologs that SCOPe classifies in different folds. The curated
 * truth (tools/truth.ts) leaves out those that related-folds.tsv lists.
 */

/** Number of pairs in memory, far more than are printed. */
const STORED_PAIRS = 20_000;

interface FalsePair {
  readonly query: string;
  readonly target: string;
  readonly logEValue: number;
}

/** A bounded collection of the best false pairs. */
export interface FalsePairs {
  add(pair: FalsePair): void;
  /** Returns one line per pair of superfamilies, by best E-value, with the number of pairs and the best pair. */
  lines(labels: ReadonlyMap<string, DomainLabel>, count: number): readonly string[];
}

/** Creates an empty collection. */
export function createFalsePairs(): FalsePairs {
  let pairs: FalsePair[] = [];
  const best = (): FalsePair[] => pairs.sort((a, b) => a.logEValue - b.logEValue);
  return {
    add(pair) {
      pairs.push(pair);
      if (pairs.length >= 2 * STORED_PAIRS) pairs = best().slice(0, STORED_PAIRS);
    },
    lines(labels, count) {
      const groups = new Map<string, { readonly first: FalsePair; count: number }>();
      for (const pair of best()) {
        const sides = [pair.query, pair.target].map((id) => labels.get(id)!.superfamily);
        const name = sides.sort().join(' ');
        const group = groups.get(name);
        if (group === undefined) groups.set(name, { first: pair, count: 1 });
        else group.count += 1;
      }
      const words = (id: string): string => {
        const { family, description } = labels.get(id)!;
        return `${id} ${family} ${description}`;
      };
      return [...groups.values()]
        .slice(0, count)
        .map(
          ({ first, count: pairCount }) =>
            `  ${Math.exp(first.logEValue).toExponential(1)} ${String(pairCount).padStart(4)} x  ` +
            `${words(first.query)} | ${words(first.target)}`,
        );
    },
  };
}
