import { readFileSync } from 'node:fs';
import { foldOf, type DomainLabel } from '../tools/labels.js';
import type { Hit } from '../sensitivity/metrics.js';

/*
 * The definitions of two published benchmarks of SCOPe domains. They differ from those of evaluate.py, so that figures
 * compare within one table only.
 */

const CLASSIFICATION = /^[a-z]\.\d+\.\d+(\.\d+)?$/;

/**
 * Reads a table of domain id and SCOPe classification (class.fold.superfamily[.family]), separated by white space. An
 * id ends before its first slash. A domain without a family is the only one of its family.
 * Errors  Error that names file and line; errors of the file system
 */
export function readLookup(path: string): ReadonlyMap<string, DomainLabel> {
  const labels = new Map<string, DomainLabel>();
  for (const [index, line] of readFileSync(path, 'utf8').split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [id, sccs] = line.trim().split(/\s+/);
    if (sccs === undefined || !CLASSIFICATION.test(sccs)) {
      throw new Error(`${path}, line ${index + 1}, is not an id and a classification such as a.1.1.1.`);
    }
    labels.set(id.split('/', 1)[0], labelOf(id, sccs));
  }
  if (labels.size === 0) throw new Error(`${path} names no domain.`);
  return labels;
}

function labelOf(id: string, sccs: string): DomainLabel {
  const parts = sccs.split('.');
  return {
    family: parts.length > 3 ? sccs : `${sccs}.${id}`,
    isFamily: parts.length > 3 && parts[3] !== '0',
    superfamily: parts.slice(0, 3).join('.'),
    foldGroup: foldOf(sccs),
    structuralClass: parts[0],
    isDev: false,
    description: '',
  };
}

/** Means over queries of the shares that are found before the first false hit. */
export interface FirstFalse {
  readonly queries: number;
  readonly family: number;
  readonly superfamily: number;
  readonly fold: number;
}

/** Queries of Foldseek's benchmark, and those of them whose superfamily has no catch-all family x.y.z.0. */
export type QueryGroup = 'all' | 'no catch-all families';

/**
 * Measures sensitivity to the first false hit by the definition of Foldseek's `bench.noselfhit.awk`. A hit is false if
 * its fold is another one or its domain is not in the lookup. Queries are the domains with another member at all three
 * levels. The superfamily counts hits outside the family, and the fold hits outside the superfamily. Their denominators
 * are one larger than these numbers of domains, as in the script; its mean divides by one row more, the header.
 * Source  van Kempen et al. 2023, scopbenchmark of foldseek-analysis
 * @param hits  of all queries; the hits of one query in any order, higher scores first
 */
export function measureFirstFalse(
  hits: readonly Hit[],
  labels: ReadonlyMap<string, DomainLabel>,
): Readonly<Record<QueryGroup, FirstFalse>> {
  const sizes = sizesOf(labels);
  const catchAll = new Set(
    [...labels.values()].filter(({ family }) => family.endsWith('.0')).map(({ superfamily }) => superfamily),
  );
  const lists = new Map<string, Hit[]>();
  for (const hit of hits) {
    const list = lists.get(hit.queryId);
    if (list === undefined) lists.set(hit.queryId, [hit]);
    else list.push(hit);
  }
  const groups = { all: sums(), 'no catch-all families': sums() };
  for (const [id, label] of labels) {
    const [family, superfamily, fold] = [label.family, label.superfamily, label.foldGroup].map((group) =>
      sizes.get(group)!,
    );
    if (family < 2 || superfamily === family || fold === superfamily) continue;
    const ranked = (lists.get(id) ?? []).toSorted((a, b) => b.score - a.score);
    const found = beforeFirstFalse(id, label, ranked, labels);
    const shares = [
      found.family / (family - 1),
      found.superfamily / (superfamily - (family - 1)),
      found.fold / (fold - (superfamily - 1)),
    ];
    groups.all.add(shares);
    if (!catchAll.has(label.superfamily)) groups['no catch-all families'].add(shares);
  }
  return { all: groups.all.means(), 'no catch-all families': groups['no catch-all families'].means() };
}

function beforeFirstFalse(
  id: string,
  query: DomainLabel,
  ranked: readonly Hit[],
  labels: ReadonlyMap<string, DomainLabel>,
): Readonly<Record<'family' | 'superfamily' | 'fold', number>> {
  const found = { family: 0, superfamily: 0, fold: 0 };
  for (const { targetId } of ranked) {
    const target = labels.get(targetId);
    if (target === undefined) break;
    if (targetId === id) continue;
    if (target.foldGroup !== query.foldGroup) break;
    if (target.family === query.family) found.family += 1;
    else if (target.superfamily === query.superfamily) found.superfamily += 1;
    else found.fold += 1;
  }
  return found;
}

/** Numbers of domains by family, superfamily and fold, whose names differ in their number of parts. */
function sizesOf(labels: ReadonlyMap<string, DomainLabel>): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { family, superfamily, foldGroup } of labels.values()) {
    for (const group of [family, superfamily, foldGroup]) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  }
  return sizes;
}

function sums(): { add(shares: readonly number[]): void; means(): FirstFalse } {
  const totals = [0, 0, 0];
  let queries = 0;
  return {
    add(shares) {
      queries += 1;
      shares.forEach((share, level) => (totals[level] += share));
    },
    means() {
      const [family, superfamily, fold] = totals.map((total) => total / Math.max(1, queries));
      return { queries, family, superfamily, fold };
    },
  };
}

/** What the E-values of a ranking are worth: found pairs, and false ones over those that the E-values claim. */
export interface Claims {
  /** Pairs of one superfamily up to E = .001. */
  readonly truePairs: number;
  /** Pairs of different folds over claimed ones, by E-value. */
  readonly falseOverClaimed: Readonly<Record<string, number>>;
}

const CLAIMED = [0.001, 0.1, 1];

/**
 * Counts what the E-values of a ranking claim. Up to E-value e, a query has e false hits.
 * @param hits  with −ln E as score; self hits do not count
 */
export function measureClaims(
  hits: readonly Hit[],
  queryCount: number,
  labels: ReadonlyMap<string, DomainLabel>,
): Claims {
  let truePairs = 0;
  const wrong = CLAIMED.map(() => 0);
  for (const { queryId, targetId, score } of hits) {
    const [query, target] = [labels.get(queryId), labels.get(targetId)];
    if (query === undefined || target === undefined || queryId === targetId) continue;
    if (query.superfamily === target.superfamily && -score <= Math.log(CLAIMED[0])) truePairs += 1;
    if (query.foldGroup === target.foldGroup) continue;
    CLAIMED.forEach((eValue, place) => (wrong[place] += -score <= Math.log(eValue) ? 1 : 0));
  }
  const ratios = CLAIMED.map((eValue, place) => [`${eValue}`, wrong[place] / (eValue * queryCount)]);
  return { truePairs, falseOverClaimed: Object.fromEntries(ratios) as Record<string, number> };
}
