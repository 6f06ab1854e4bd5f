import type { PairOrigin, TestedPair } from './suspects.js';
import type { ProfileHit } from './hhsuite.js';

/*
 * The rule that confirms a pair of superfamilies, and its false rate on control pairs.
 *
 * hhsearch gives each pair of domains a P-value and a probability. Both searches must pass: one domain in the other's
 * superfamily, and the other way round. The E-value is for one search of all labelled domains, however few were
 * aligned.
 */

/** Limits that a pair of domains keeps in both directions. */
export interface Rule {
  /** Unit: % */
  readonly leastProbability: number;
  readonly largestE: number;
}

/**
 * The rule that fills related-folds.tsv. At this E-value hhsearch claims about .3 false pairs of domains among the
 * 290,000 that are suspected.
 */
export const CONFIRMING_RULE: Rule = { leastProbability: 80, largestE: 1e-2 };
/** Rules whose rates are printed. */
export const MEASURED_RULES: readonly Rule[] = [
  { leastProbability: 50, largestE: 1 },
  { leastProbability: 80, largestE: 1e-1 },
  CONFIRMING_RULE,
  { leastProbability: 90, largestE: 1e-3 },
  { leastProbability: 95, largestE: 1e-4 },
];

/** A pair of domains with the weaker of its two scores. */
export interface Evidence {
  readonly query: string;
  readonly target: string;
  readonly eValue: number;
  readonly probability: number;
  readonly columns: number;
}

/** A pair of superfamilies with its pairs of domains that pass, best first. */
export interface JudgedPair {
  readonly pair: TestedPair;
  readonly evidence: readonly Evidence[];
}

/** Returns the E-value of a hit in a search of `targetCount` domains. */
export function eValueOf({ bits }: ProfileHit, targetCount: number): number {
  return targetCount * 2 ** -bits;
}

/**
 * Joins the hits of both directions.
 * @returns pairs of domains that hhsearch scored in both directions, each with its weaker scores
 */
export function inBothDirections(
  forward: readonly ProfileHit[],
  backward: readonly ProfileHit[],
  targetCount: number,
): readonly Evidence[] {
  const back = new Map(backward.map((hit) => [`${hit.target} ${hit.query}`, hit]));
  return forward.flatMap((hit) => {
    const other = back.get(`${hit.query} ${hit.target}`);
    if (other === undefined) return [];
    return {
      query: hit.query,
      target: hit.target,
      eValue: Math.max(eValueOf(hit, targetCount), eValueOf(other, targetCount)),
      probability: Math.min(hit.probability, other.probability),
      columns: Math.min(hit.columns, other.columns),
    };
  });
}

/**
 * Returns whether two domains are of one chain of one structure. Their profiles may then share homologs of the whole
 * chain, and no hit between them is evidence. SCOPe's id is `d`, the four characters of the entry, chain and number.
 */
export function areOfOneChain(one: string, other: string): boolean {
  return one.slice(0, 6) === other.slice(0, 6);
}

/** Collects the evidence of each pair of superfamilies. @param superfamilyOf  of a domain */
export function judgePairs(
  pairs: readonly TestedPair[],
  evidence: readonly Evidence[],
  superfamilyOf: (id: string) => string,
  rule: Rule,
): readonly JudgedPair[] {
  const byPair = new Map<string, Evidence[]>();
  for (const one of evidence) {
    if (one.probability < rule.leastProbability || one.eValue > rule.largestE) continue;
    if (areOfOneChain(one.query, one.target)) continue;
    const key = `${superfamilyOf(one.query)} ${superfamilyOf(one.target)}`;
    byPair.set(key, [...(byPair.get(key) ?? []), one]);
  }
  return pairs.map((pair) => {
    const list = byPair.get(`${pair.query} ${pair.target}`) ?? [];
    return { pair, evidence: list.sort((a, b) => a.eValue - b.eValue) };
  });
}

/** Numbers of tested and confirmed pairs of one origin. */
export interface Rate {
  readonly tested: number;
  readonly confirmed: number;
}

/**
 * Counts confirmed pairs by origin. Control pairs of one structural class may hold homologs that the curator missed, so
 * that those of two classes are counted apart as well.
 */
export function ratesOf(judged: readonly JudgedPair[]): Readonly<Record<string, Rate>> {
  const origins: readonly PairOrigin[] = [
    'superfamilies',
    'control of superfamilies',
    'folds',
    'control of folds',
  ];
  const rate = (list: readonly JudgedPair[]): Rate => ({
    tested: list.length,
    confirmed: list.filter(({ evidence }) => evidence.length > 0).length,
  });
  const isOfTwoClasses = ({ pair }: JudgedPair): boolean => pair.query[0] !== pair.target[0];
  return Object.fromEntries(
    origins.flatMap((origin) => {
      const list = judged.filter(({ pair }) => pair.origin === origin);
      return [
        [origin, rate(list)],
        [`${origin}, two classes`, rate(list.filter(isOfTwoClasses))],
      ];
    }),
  );
}

/** Describes the evidence of a confirmed pair in one line. */
export function evidenceText({ evidence }: JudgedPair): string {
  const [best] = evidence;
  const pairs = evidence.length === 1 ? '1 pair of domains' : `${evidence.length} pairs of domains`;
  return (
    `hhsearch ${best.query} ${best.target}: E ${best.eValue.toExponential(1)}, ` +
    `${best.probability.toFixed(0)} %, ${best.columns} columns; ${pairs}`
  );
}
