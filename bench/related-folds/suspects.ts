import { readFileSync } from 'node:fs';
import type { SeededRandom } from '../../src/random.js';
import { foldOf, type DomainLabel } from '../tools/labels.js';
import { spaced } from '../tools/proteins.js';

/*
 * The pairs of superfamilies to test, and as many control pairs. A line of the curated list names two superfamilies or
 * two folds. A pair of folds stands for all pairs of their superfamilies. Pairs of one fold group are left out, because
 * no table counts them as false.
 *
 * A control pair keeps one superfamily of a tested pair and replaces the other by one of about the same size. No line
 * of the list names the folds of a control pair.
 */

/** Largest number of domains of a superfamily that are aligned, evenly spaced: pairs grow with its square. */
const DRAWN_MAX_COUNT = 50;
/** Number of superfamilies nearest in size from which a control partner is drawn. */
const CONTROL_CHOICES = 40;
/** Draws of a control partner before a pair goes without one. */
const CONTROL_ATTEMPTS = 200;

/**
 * Why a pair of superfamilies is tested: the list names it, the list names its folds, or it is a control.
 */
export type PairOrigin = 'superfamilies' | 'folds' | 'control of superfamilies' | 'control of folds';

/** Two superfamilies of different fold groups. The domains of `query` are searched in those of `target` first. */
export interface TestedPair {
  readonly query: string;
  readonly target: string;
  readonly origin: PairOrigin;
}

/** A line of the curated list. */
export interface CuratedPair {
  readonly level: 'fold' | 'superfamily';
  readonly sides: readonly [string, string];
}

/** Reads lines `level <tab> a <tab> b <tab> best E-value` below a header. */
export function readCurated(path: string): readonly CuratedPair[] {
  const [, ...lines] = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [level, one, other] = line.split('\t');
    return { level: level as CuratedPair['level'], sides: [one, other] };
  });
}

/** Returns the ids of the drawn domains of each superfamily, in the order of the labels. */
export function drawDomains(
  labels: ReadonlyMap<string, DomainLabel>,
  most = DRAWN_MAX_COUNT,
): ReadonlyMap<string, readonly string[]> {
  const members = new Map<string, string[]>();
  for (const [id, { superfamily }] of labels) {
    const ids = members.get(superfamily);
    if (ids === undefined) members.set(superfamily, [id]);
    else ids.push(id);
  }
  return new Map([...members].map(([superfamily, ids]) => [superfamily, spaced(ids, most)]));
}

/** Returns the pairs of superfamilies of different fold groups that the list names, by superfamily or by fold. */
export function suspectPairs(
  curated: readonly CuratedPair[],
  labels: ReadonlyMap<string, DomainLabel>,
): readonly TestedPair[] {
  const groups = new Map([...labels.values()].map(({ superfamily, foldGroup }) => [superfamily, foldGroup]));
  const byFold = new Map<string, string[]>();
  for (const superfamily of groups.keys()) {
    const fold = foldOf(superfamily);
    byFold.set(fold, [...(byFold.get(fold) ?? []), superfamily]);
  }
  const pairs = new Map<string, TestedPair>();
  // Superfamilies first: a pair that the list names by superfamily keeps that origin.
  for (const level of ['superfamily', 'fold'] as const) {
    for (const { sides } of curated.filter((line) => line.level === level)) {
      const members = (side: string): readonly string[] =>
        level === 'fold' ? (byFold.get(side) ?? []) : groups.has(side) ? [side] : [];
      for (const one of members(sides[0])) {
        for (const other of members(sides[1])) {
          const [query, target] = [one, other].sort();
          if (groups.get(query) === groups.get(target) || pairs.has(`${query} ${target}`)) continue;
          pairs.set(`${query} ${target}`, {
            query,
            target,
            origin: level === 'fold' ? 'folds' : 'superfamilies',
          });
        }
      }
    }
  }
  return [...pairs.values()];
}

/**
 * Turns pairs so that few domains are queries: a greedy vertex cover by partners per domain.
 * @param sizeOf  number of drawn domains of a superfamily
 */
export function turnedPairs(
  pairs: readonly TestedPair[],
  sizeOf: (superfamily: string) => number,
): readonly TestedPair[] {
  const left = new Map<string, Set<TestedPair>>();
  for (const pair of pairs) {
    for (const side of [pair.query, pair.target]) left.set(side, (left.get(side) ?? new Set()).add(pair));
  }
  const turned: TestedPair[] = [];
  while (turned.length < pairs.length) {
    let best = '';
    let bestWorth = 0;
    for (const [superfamily, open] of left) {
      const worth = open.size / sizeOf(superfamily);
      if (worth > bestWorth) [best, bestWorth] = [superfamily, worth];
    }
    for (const pair of left.get(best)!) {
      const target = pair.query === best ? pair.target : pair.query;
      left.get(target)!.delete(pair);
      turned.push({ query: best, target, origin: pair.origin });
    }
    left.set(best, new Set());
  }
  return turned;
}

/**
 * Returns a control pair for each pair, as far as there are partners of about the same size.
 * @param isNamed  whether a list names these two folds as related
 */
export function controlPairs(
  pairs: readonly TestedPair[],
  groupOf: (superfamily: string) => string,
  sizeOf: (superfamily: string) => number,
  isNamed: (one: string, other: string) => boolean,
  random: SeededRandom,
): readonly TestedPair[] {
  const bySize = [...new Set(pairs.flatMap(({ query, target }) => [query, target]))].sort(
    (a, b) => sizeOf(a) - sizeOf(b) || (a < b ? -1 : 1),
  );
  const places = new Map(bySize.map((superfamily, place) => [superfamily, place]));
  const drawn = new Set<string>();
  const controls: TestedPair[] = [];
  for (const { query, target, origin } of pairs) {
    const start = places.get(target)! - CONTROL_CHOICES / 2;
    const first = Math.min(Math.max(0, start), Math.max(0, bySize.length - CONTROL_CHOICES));
    for (let attempt = 0; attempt < CONTROL_ATTEMPTS; attempt += 1) {
      const partner = bySize[first + random.below(Math.min(CONTROL_CHOICES, bySize.length))];
      const key = [query, partner].sort().join(' ');
      if (groupOf(partner) === groupOf(query) || isNamed(query, partner) || drawn.has(key)) continue;
      drawn.add(key);
      controls.push({
        query,
        target: partner,
        origin: origin === 'folds' ? 'control of folds' : 'control of superfamilies',
      });
      break;
    }
  }
  return controls;
}
