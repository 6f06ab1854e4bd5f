import { readFileSync } from 'node:fs';
import type { DomainLabel } from '../tools/labels.js';

/*
 * The best of the false pairs, to be read: many are homologs that SCOPe keeps in different folds. Which ones, and
 * why, stands in related-folds.tsv, a reading of the literature and of these very lists. Not set aside, because only a
 * fragment is held to be common, are the P-loops of c.37 and the dinucleotide-binding c.2, c.3 and c.66: most of
 * the best false pairs of dev.
 */

/** Pairs kept for reading: far more than anybody reads. */
const KEPT_PAIRS = 20_000;

interface FalsePair {
  readonly query: string;
  readonly target: string;
  readonly logEValue: number;
}

/** Whether two domains of different fold groups are held to be homologs all the same. */
export type AreRelated = (a: DomainLabel, b: DomainLabel) => boolean;

/**
 * Reads `one <tab> other <tab> reason` lines; each side is a fold, superfamily or family (`c.23`, `a.4.1.12`) and
 * stands for all below it.
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

export interface FalsePairs {
  add(pair: FalsePair): void;
  /** Pairs of superfamilies by their best E-value, each with its count and best pair. */
  lines(labels: ReadonlyMap<string, DomainLabel>, count: number): readonly string[];
}

export function createFalsePairs(): FalsePairs {
  let kept: FalsePair[] = [];
  const best = (): FalsePair[] => kept.sort((a, b) => a.logEValue - b.logEValue);
  return {
    add(pair) {
      kept.push(pair);
      if (kept.length >= 2 * KEPT_PAIRS) kept = best().slice(0, KEPT_PAIRS);
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
          ({ first, count: pairs }) =>
            `  ${Math.exp(first.logEValue).toExponential(1)} ${String(pairs).padStart(4)} x  ` +
            `${words(first.query)} | ${words(first.target)}`,
        );
    },
  };
}
