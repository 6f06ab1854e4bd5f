import type { DomainLabel } from '../tools/labels.js';
import type { Truth } from '../tools/truth.js';

/** A pair with its score; higher is better. */
export interface Hit {
  readonly queryId: string;
  readonly targetId: string;
  readonly score: number;
}

/** Metrics of one ranking, with the names of evaluate.py in the shared data. */
export type Sensitivity = Readonly<Record<string, number>>;

const MARKS = [0.1, 1, 10];
const DEPTHS = [1, 10, 100];

/**
 * Computes the metrics of evaluate.py, with the same order of ties: by query id, then by target id. Absent pairs count
 * as not found.
 * @param truth  SCOPe's, as evaluate.py has it, or the curated one, whose pairs of related folds count nowhere
 */
export function measureSensitivity(
  hits: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  truth: Truth,
): Sensitivity {
  const pooled = hits
    .filter(({ queryId, targetId }) => queryId !== targetId && queryIds.has(queryId))
    .sort((a, b) => b.score - a.score || order(a.queryId, b.queryId) || order(a.targetId, b.targetId));
  const sizes = countMembers(labels);
  let truePairs = 0;
  for (const id of queryIds) truePairs += sizes.superfamily.get(labels.get(id)!.superfamily)! - 1;
  const sepq = (isFalse: (query: DomainLabel, target: DomainLabel) => boolean): readonly number[] =>
    pooledSensitivity(pooled, queryIds.size, truePairs, labels, isFalse);
  const isOfOtherFold = (query: DomainLabel, target: DomainLabel): boolean =>
    truth.kindOf(query, target) === 'false';
  const otherSuperfamily = sepq(
    (query, target) => query.foldGroup === target.foldGroup || isOfOtherFold(query, target),
  );
  const otherFold = sepq(isOfOtherFold);
  return {
    ...toFirstFalse(pooled, queryIds, labels, sizes, truth),
    ...Object.fromEntries(MARKS.map((mark, index) => [`sf2_SEPQ${mark}`, otherSuperfamily[index]])),
    ...Object.fromEntries(MARKS.map((mark, index) => [`sf3_SEPQ${mark}`, otherFold[index]])),
  };
}

/**
 * Returns, for each mark, the share of all true pairs in the pooled list up to that number of false pairs per query.
 */
function pooledSensitivity(
  pooled: readonly Hit[],
  queryCount: number,
  truePairs: number,
  labels: ReadonlyMap<string, DomainLabel>,
  isFalse: (query: DomainLabel, target: DomainLabel) => boolean,
): readonly number[] {
  const reached: number[] = [];
  let [homologCount, wrong] = [0, 0];
  for (const { queryId, targetId } of pooled) {
    const [query, target] = [labels.get(queryId)!, labels.get(targetId)!];
    if (query.superfamily === target.superfamily) homologCount += 1;
    else if (isFalse(query, target)) wrong += 1;
    else continue;
    while (reached.length < MARKS.length && wrong >= MARKS[reached.length] * queryCount) {
      reached.push(homologCount / truePairs);
    }
  }
  return MARKS.map((_, index) => reached[index] ?? homologCount / truePairs);
}

/**
 * Numbers of domains by family, superfamily and fold group; `named` counts superfamilies without catch-all families.
 */
type Sizes = Readonly<Record<'family' | 'superfamily' | 'foldGroup' | 'named', Map<string, number>>>;

function countMembers(labels: ReadonlyMap<string, DomainLabel>): Sizes {
  const sizes: Sizes = { family: new Map(), superfamily: new Map(), foldGroup: new Map(), named: new Map() };
  const add = (counts: Map<string, number>, key: string): unknown =>
    counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { family, superfamily, foldGroup, isFamily } of labels.values()) {
    add(sizes.family, family);
    add(sizes.superfamily, superfamily);
    add(sizes.foldGroup, foldGroup);
    if (isFamily) add(sizes.named, superfamily);
  }
  return sizes;
}

/**
 * Computes means over queries: shares of three levels before the first target of another fold group, capped recalls.
 */
function toFirstFalse(
  pooled: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  sizes: Sizes,
  truth: Truth,
): Sensitivity {
  const lists = new Map<string, DomainLabel[]>();
  for (const { queryId, targetId } of pooled) {
    const list = lists.get(queryId);
    if (list === undefined) lists.set(queryId, [labels.get(targetId)!]);
    else list.push(labels.get(targetId)!);
  }
  const means = { family: mean(), superfamily: mean(), fold: mean() };
  const recalls = DEPTHS.map(() => mean());
  for (const id of queryIds) {
    const query = labels.get(id)!;
    const list = lists.get(id) ?? [];
    const [superfamily, named] = [
      sizes.superfamily.get(query.superfamily)!,
      sizes.named.get(query.superfamily) ?? 0,
    ];
    const family = sizes.family.get(query.family)!;
    const got = beforeFirstFalse(query, list, truth);
    means.family.add(got.family, query.isFamily ? family - 1 : 0);
    means.superfamily.add(got.superfamily, query.isFamily ? named - family : 0);
    means.fold.add(got.fold, sizes.foldGroup.get(query.foldGroup)! - superfamily);
    DEPTHS.forEach((depth, index) => {
      const hits = list.slice(0, depth).filter((target) => target.superfamily === query.superfamily).length;
      recalls[index].add(hits, Math.min(depth, superfamily - 1));
    });
  }
  return {
    to1stFP_family: means.family.value(),
    to1stFP_superfamily: means.superfamily.value(),
    to1stFP_fold: means.fold.value(),
    ...Object.fromEntries(DEPTHS.map((depth, index) => [`cR@${depth}`, recalls[index].value()])),
  };
}

function beforeFirstFalse(
  query: DomainLabel,
  list: readonly DomainLabel[],
  truth: Truth,
): Readonly<Record<'family' | 'superfamily' | 'fold', number>> {
  const got = { family: 0, superfamily: 0, fold: 0 };
  for (const target of list) {
    if (truth.kindOf(query, target) === 'false') break;
    if (target.foldGroup !== query.foldGroup) continue;
    if (target.superfamily !== query.superfamily) got.fold += 1;
    else if (query.isFamily && target.family === query.family) got.family += 1;
    else if (query.isFamily && target.isFamily) got.superfamily += 1;
  }
  return got;
}

/** Accumulates the mean of hits ÷ relevant targets. Queries without relevant targets do not count. */
function mean(): { add(part: number, total: number): void; value(): number } {
  let [sum, count] = [0, 0];
  return {
    add(part, total) {
      if (total === 0) return;
      sum += part / total;
      count += 1;
    },
    value: () => sum / Math.max(1, count),
  };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
