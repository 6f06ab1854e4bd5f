import { measureSensitivity, type Hit } from '../sensitivity/metrics.js';
import type { DomainLabel } from '../tools/labels.js';
import type { Truths } from '../tools/truth.js';

/** Inclusive ranges of the number of homologs of a protein. */
const BINS: readonly (readonly [number, number])[] = [
  [0, 0],
  [1, 4],
  [5, 19],
  [20, Infinity],
];
/** Least number of homologs of a protein that counts as one with homologs. */
const FEWEST_HOMOLOGS = 5;

/** Returns the name of the range that contains a number of homologs. */
export function homologsBin(count: number): string {
  const [least, most] = BINS.find(([, last]) => count <= last)!;
  return most === Infinity ? `${least} or more` : least === most ? `${least}` : `${least} to ${most}`;
}

/** Computes the sensitivity at superfamily level, under both truths, by the number of homologs of the query. */
export function byQueryHomologs(
  hits: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  homologs: ReadonlyMap<string, number>,
  truths: Truths,
): readonly {
  readonly relatives: string;
  readonly queries: number;
  readonly superfamily: number;
  readonly curated: number;
}[] {
  return BINS.map(([least, most]) => {
    const ids = new Set([...queryIds].filter((id) => within(homologs.get(id) ?? 0, least, most)));
    const [superfamily, curated] = [truths.scope, truths.curated].map(
      (truth) => measureSensitivity(hits, ids, labels, truth).to1stFP_superfamily,
    );
    return { relatives: homologsBin(least), queries: ids.size, superfamily, curated };
  });
}

/**
 * Counts pairs of one superfamily and different families, and how many of them rank before the first false target. The
 * four cells are whether query and target have FEWEST_HOMOLOGS homologs.
 */
export function byPairHomologs(
  hits: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  homologs: ReadonlyMap<string, number>,
  truths: Truths,
): readonly {
  readonly query: boolean;
  readonly target: boolean;
  readonly pairs: number;
  /** Pairs before the first false target of SCOPe's truth. */
  readonly found: number;
  /** Pairs before the first false target of the curated truth. */
  readonly curated: number;
}[] {
  const hasHomologs = (id: string): boolean => (homologs.get(id) ?? 0) >= FEWEST_HOMOLOGS;
  const cells = [false, true].flatMap((query) =>
    [false, true].map((target) => ({ query, target, pairs: 0, found: 0, curated: 0 })),
  );
  const cellOf = (query: string, target: string) =>
    cells[2 * Number(hasHomologs(query)) + Number(hasHomologs(target))];
  const lists = new Map<string, Hit[]>();
  for (const hit of hits) {
    const list = lists.get(hit.queryId);
    if (list === undefined) lists.set(hit.queryId, [hit]);
    else list.push(hit);
  }
  for (const id of queryIds) {
    const query = labels.get(id)!;
    if (!query.isFamily) continue;
    const counts = (target: DomainLabel): boolean =>
      target.isFamily && target.superfamily === query.superfamily && target.family !== query.family;
    for (const [other, label] of labels) if (counts(label)) cellOf(id, other).pairs += 1;
    const list = (lists.get(id) ?? [])
      .filter(({ targetId }) => targetId !== id)
      .sort((a, b) => b.score - a.score);
    for (const [column, truth] of [
      ['found', truths.scope],
      ['curated', truths.curated],
    ] as const) {
      for (const { targetId } of list) {
        const target = labels.get(targetId)!;
        if (truth.kindOf(query, target) === 'false') break;
        if (counts(target)) cellOf(id, targetId)[column] += 1;
      }
    }
  }
  return cells;
}

function within(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}
