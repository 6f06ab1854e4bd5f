import { readFileSync } from 'node:fs';
import type { DomainLabel } from '../tools/labels.js';

/*
 * The false pairs with the smallest E-values. Many are homologs that SCOPe classifies in different folds;
 * related-folds.tsv lists such folds with reasons from the literature and from these lists. Most of the best false
 * pairs
 * of dev are P-loops of c.37 and the dinucleotide-binding folds c.2, c.3 and c.66. They still count as false, because
 * only a fragment is thought to be homologous.
 */

/** Number of pairs in memory, far more than are printed. */
const STORED_PAIRS = 20_000;

interface FalsePair {
  readonly query: string;
  readonly target: string;
  readonly logEValue: number;
}

/** Returns whether two domains of different fold groups are thought to be homologs. */
export type AreRelated = (a: DomainLabel, b: DomainLabel) => boolean;

/**
 * Reads lines `one <tab> other <tab> reason`. Each side is a fold, superfamily or family (`c.23`, `a.4.1.12`), with
 * everything below it.
 */
export function readRelatedFolds(path: string): AreRelated {
  const [, ...lines] = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  const pairs = lines.map((line) => line.split('\t'));
  const isWithin = (family: string, group: string): boolean =>
    family === group || family.startsWith(`${group}.`);
  return (a, b) =>
    pairs.some(
      ([one, other]) =>
        (isWithin(a.family, one) && isWithin(b.family, other)) ||
        (isWithin(a.family, other) && isWithin(b.family, one)),
    );
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
