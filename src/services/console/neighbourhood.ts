import { Refusal } from '../../errors.js';
import type { NeighbourGraph } from '../../neighbours/graph.js';
import type { AttributeValue, Release } from '../../release/release.js';

/* The surroundings of one protein in the graph of neighbours. Names are those of an internal page. */

/** Most proteins of a drawn neighbourhood, and most edges of one of them, the centre excepted. */
const PROTEINS_MAX_COUNT = 300;
const EDGES_PER_PROTEIN = 5;

export interface NeighbourhoodProtein {
  readonly id: string;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Edges between the centre and this protein: 0 for the centre. Range: 0..2 */
  readonly steps: number;
}

/** A pair of similar proteins, by position in the list of proteins. */
export interface NeighbourhoodEdge {
  readonly source: number;
  readonly target: number;
  /** Natural logarithm of the E-value in the row of the source, the smaller one where both rows have the pair. */
  readonly log_expected_false_hits: number;
}

export interface Neighbourhood {
  /** The centre, its neighbours by E-value, then neighbours of those by the weaker of two edges. */
  readonly proteins: readonly NeighbourhoodProtein[];
  readonly edges: readonly NeighbourhoodEdge[];
  /** Proteins within two steps that the bound leaves out. */
  readonly left_out_count: number;
}

/**
 * Returns the proteins within two steps of a protein, and the strongest edges among them.
 * Cost    the edges of 101 rows
 * Errors  Refusal `validation_failed` if the release has no such protein
 */
export function neighbourhoodOf({ targets }: Release, graph: NeighbourGraph, id: string): Neighbourhood {
  const centre = targets.find(id);
  if (centre === undefined) {
    throw new Refusal('validation_failed', 'The release has no protein of that id.', { param: 'id' });
  }
  const near = rowOf(graph, centre);
  const steps = new Map([[centre, 0], ...near.map(({ target }) => [target, 1] as const)]);
  const weaker = new Map<number, number>();
  for (const first of near) {
    for (const { target, logEValue } of rowOf(graph, first.target)) {
      if (steps.has(target)) continue;
      const path = Math.max(first.logEValue, logEValue);
      weaker.set(target, Math.min(path, weaker.get(target) ?? Infinity));
    }
  }
  const further = [...weaker].sort(([a, x], [b, y]) => x - y || a - b);
  const room = PROTEINS_MAX_COUNT - steps.size;
  for (const [target] of further.slice(0, room)) steps.set(target, 2);
  return {
    proteins: [...steps].map(([target, count]) => ({
      id: targets.id(target),
      attributes: targets.attributes(target),
      steps: count,
    })),
    edges: edgesAmong(graph, [...steps.keys()]),
    left_out_count: Math.max(0, further.length - room),
  };
}

/**
 * Returns the strongest edges of each of some proteins with others of them, each pair once. The first one, the centre,
 * has all of its edges.
 */
function edgesAmong(graph: NeighbourGraph, targets: readonly number[]): readonly NeighbourhoodEdge[] {
  const places = new Map(targets.map((target, place) => [target, place]));
  const edges = new Map<string, NeighbourhoodEdge>();
  for (const [source, target] of targets.entries()) {
    const inside = rowOf(graph, target).filter((each) => places.has(each.target));
    for (const edge of source === 0 ? inside : inside.slice(0, EDGES_PER_PROTEIN)) {
      const other = places.get(edge.target)!;
      const key = `${Math.min(source, other)} ${Math.max(source, other)}`;
      const known = edges.get(key);
      if (known !== undefined && known.log_expected_false_hits <= edge.logEValue) continue;
      edges.set(key, { source, target: other, log_expected_false_hits: edge.logEValue });
    }
  }
  return [...edges.values()];
}

/** Neighbours of a target, by E-value. */
function rowOf(
  { offsets, targets, logEValues }: NeighbourGraph,
  target: number,
): readonly { readonly target: number; readonly logEValue: number }[] {
  return Array.from(targets.subarray(offsets[target], offsets[target + 1]), (neighbour, at) => ({
    target: neighbour,
    logEValue: logEValues[offsets[target] + at],
  }));
}
