import { MCL_PRUNING, clusterByMcl, type WeightedGraph } from './mcl.js';
import type { NeighbourGraph } from './graph.js';

/** What makes two neighbours close, and families large or small. */
export interface FamilyParameters {
  /** Largest E-value of a pair that counts. > 0, at most that of the graph */
  readonly largestEValue: number;
  /** Least share of both proteins that their alignment spans. Range  0..1 */
  readonly leastCoverage: number;
  /** Exponent of MCL's inflation in quarters: 8 is 2. Range  5..40 */
  readonly inflationQuarters: number;
}

/** Members of one family. */
export interface Family {
  /** The member with the most weight of edges to other members; of equal ones, the longest, then the first. */
  readonly representative: number;
  /** Ascending, the representative among them. */
  readonly members: readonly number[];
}

/** Defaults, chosen on labelled domains (bench/clusters). */
export const FAMILY_PARAMETERS: FamilyParameters = Object.freeze({
  largestEValue: 0.1,
  leastCoverage: 0.5,
  inflationQuarters: 5,
});

/** A pair weighs −log10 of its E-value ÷ the largest, and this beside it, so that the weakest pair weighs some. */
const LEAST_WEIGHT = 1;
/**
 * A pair weighs at most so much. Without this bound, close pairs hold the flow and remote members of a family leave it.
 */
const LARGEST_WEIGHT = 3;

/**
 * Divides targets into families by MCL over their neighbours. Every target is in one family. A target without
 * neighbours is a family of its own.
 * Order  by descending size, then by the first member
 * @param lengthOf  length of a target. Unit: residues
 */
export function familiesOf(
  graph: NeighbourGraph,
  lengthOf: (target: number) => number,
  parameters: FamilyParameters,
): readonly Family[] {
  const weighted = weightedGraph(graph, lengthOf, parameters);
  const clusters = clusterByMcl(weighted, {
    ...MCL_PRUNING,
    inflationQuarters: parameters.inflationQuarters,
  });
  const members = new Map<number, number[]>();
  for (const [target, cluster] of clusters.entries()) {
    const family = members.get(cluster);
    if (family === undefined) members.set(cluster, [target]);
    else family.push(target);
  }
  return [...members.values()]
    .map((family) => ({ representative: centreOf(family, weighted, clusters, lengthOf), members: family }))
    .sort((a, b) => b.members.length - a.members.length || a.members[0] - b.members[0]);
}

/**
 * Symmetric weights of the pairs that count. A pair of two rows has the smaller of both E-values.
 * Cost  24 bytes for each pair in memory
 */
export function weightedGraph(
  graph: NeighbourGraph,
  lengthOf: (target: number) => number,
  { largestEValue, leastCoverage }: FamilyParameters,
): WeightedGraph {
  const targetCount = graph.offsets.length - 1;
  const counts = new Uint32Array(targetCount + 1);
  const largestLog = Math.log10(largestEValue);
  const weightOf = (query: number, edge: number): number => {
    const target = graph.targets[edge];
    const weight = largestLog - graph.logEValues[edge] / Math.LN10;
    const ofQuery = (graph.queryEnds[edge] - graph.queryStarts[edge]) / lengthOf(query);
    const ofTarget = (graph.targetEnds[edge] - graph.targetStarts[edge]) / lengthOf(target);
    const isCounted = weight >= 0 && Math.min(ofQuery, ofTarget) >= leastCoverage;
    return isCounted ? Math.min(LARGEST_WEIGHT, weight + LEAST_WEIGHT) : 0;
  };
  const forEachEdge = (visit: (query: number, target: number, weight: number) => void): void => {
    for (let query = 0; query < targetCount; query += 1) {
      for (let edge = graph.offsets[query]; edge < graph.offsets[query + 1]; edge += 1) {
        const weight = weightOf(query, edge);
        if (weight > 0) visit(query, graph.targets[edge], weight);
      }
    }
  };
  forEachEdge((query, target) => {
    counts[query] += 1;
    counts[target] += 1;
  });
  const starts = new Uint32Array(targetCount + 1);
  for (let target = 0; target < targetCount; target += 1)
    starts[target + 1] = starts[target] + counts[target];
  const neighbours = new Uint32Array(starts[targetCount]);
  const weights = new Float64Array(starts[targetCount]);
  const filled = starts.slice();
  const put = (from: number, to: number, weight: number): void => {
    neighbours[filled[from]] = to;
    weights[filled[from]] = weight;
    filled[from] += 1;
  };
  forEachEdge((query, target, weight) => {
    put(query, target, weight);
    put(target, query, weight);
  });
  return merged(starts, neighbours, weights);
}

/** Sorts each row by neighbour, and merges equal neighbours to the largest weight. */
function merged(starts: Uint32Array, neighbours: Uint32Array, weights: Float64Array): WeightedGraph {
  const offsets = new Uint32Array(starts.length);
  let end = 0;
  for (let row = 0; row < starts.length - 1; row += 1) {
    const places = Array.from({ length: starts[row + 1] - starts[row] }, (_, at) => starts[row] + at);
    const entries = places
      .map((at) => ({ neighbour: neighbours[at], weight: weights[at] }))
      .sort((a, b) => a.neighbour - b.neighbour || b.weight - a.weight);
    for (const [at, { neighbour, weight }] of entries.entries()) {
      if (at > 0 && entries[at - 1].neighbour === neighbour) continue;
      neighbours[end] = neighbour;
      weights[end] = weight;
      end += 1;
    }
    offsets[row + 1] = end;
  }
  return { offsets, neighbours: neighbours.slice(0, end), weights: weights.slice(0, end) };
}

function centreOf(
  members: readonly number[],
  { offsets, neighbours, weights }: WeightedGraph,
  clusters: Uint32Array,
  lengthOf: (target: number) => number,
): number {
  let best = members[0];
  let most = -1;
  for (const member of members) {
    let sum = 0;
    for (let edge = offsets[member]; edge < offsets[member + 1]; edge += 1) {
      if (clusters[neighbours[edge]] === clusters[member]) sum += weights[edge];
    }
    if (sum < most || (sum === most && lengthOf(member) <= lengthOf(best))) continue;
    best = member;
    most = sum;
  }
  return best;
}
