import { measureSensitivity, type Hit } from '../sensitivity/metrics.js';
import type { DomainLabel } from '../tools/labels.js';

/** Relatives of a query: none, few, some, many. */
const BINS: readonly (readonly [number, number])[] = [
  [0, 0],
  [1, 4],
  [5, 19],
  [20, Infinity],
];
/** From so many on a protein's family counts as known. */
const KNOWN = 5;

/** What a query's number of relatives is counted with. */
export function homologsBin(count: number): string {
  const [least, most] = BINS.find(([, last]) => count <= last)!;
  return most === Infinity ? `${least} or more` : least === most ? `${least}` : `${least} to ${most}`;
}

/** Superfamily figures by the relatives that a query has. */
export function byQueryHomologs(
  hits: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  homologs: ReadonlyMap<string, number>,
): readonly { readonly relatives: string; readonly queries: number; readonly superfamily: number }[] {
  return BINS.map(([least, most]) => {
    const ids = new Set([...queryIds].filter((id) => within(homologs.get(id) ?? 0, least, most)));
    const { to1stFP_superfamily: superfamily } = measureSensitivity(hits, ids, labels);
    return { relatives: homologsBin(least), queries: ids.size, superfamily };
  });
}

/**
 * Share of the pairs of one superfamily and two families that stand before the first target of another fold, by
 * whether query and target have five relatives.
 */
export function byPairHomologs(
  hits: readonly Hit[],
  queryIds: ReadonlySet<string>,
  labels: ReadonlyMap<string, DomainLabel>,
  homologs: ReadonlyMap<string, number>,
): readonly {
  readonly query: boolean;
  readonly target: boolean;
  readonly pairs: number;
  readonly found: number;
}[] {
  const isKnown = (id: string): boolean => (homologs.get(id) ?? 0) >= KNOWN;
  const cells = [false, true].flatMap((query) =>
    [false, true].map((target) => ({ query, target, pairs: 0, found: 0 })),
  );
  const cellOf = (query: string, target: string) =>
    cells[2 * Number(isKnown(query)) + Number(isKnown(target))];
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
    for (const { targetId } of list) {
      const target = labels.get(targetId)!;
      if (target.foldGroup !== query.foldGroup) break;
      if (counts(target)) cellOf(id, targetId).found += 1;
    }
  }
  return cells;
}

function within(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}
