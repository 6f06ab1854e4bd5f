/*
 * The Markov cluster algorithm (MCL) on a weighted graph. A column-stochastic matrix of random steps is squared
 * (expansion), and its entries are raised to a power and scaled to columns of sum 1 (inflation), until it stands still.
 * Then every column lies on a few attractors, and the columns of one system of attractors are a cluster.
 *
 *   Source  van Dongen, Graph Clustering by Flow Simulation, 2000; Enright, van Dongen & Ouzounis 2002 (TRIBE-MCL)
 *
 * Connected components do not exchange flow, so each is clustered alone. All sums have a fixed order and all operations
 * are those that IEEE 754 rounds alike everywhere, so that a graph has the same clusters on every machine.
 */

/**
 * A symmetric graph as compressed sparse rows, without loops.
 * Shape  offsets [nodes + 1]; neighbours, weights [edges × 2]; each row ascends by neighbour
 */
export interface WeightedGraph {
  readonly offsets: Uint32Array;
  readonly neighbours: Uint32Array;
  /** More is closer. Finite, > 0. */
  readonly weights: Float64Array;
}

export interface MclParameters {
  /** Exponent of the inflation in quarters: 8 is 2. More gives smaller clusters. Range  5..40 */
  readonly inflationQuarters: number;
  /** Entries of a column below this are dropped, before they underflow. Range  1e-12..0.1 */
  readonly leastEntry: number;
  /** Most entries of a column. 1.. */
  readonly largestColumn: number;
}

/** Parameters of this version beside the inflation, as coarse as the scheme of mcl that is meant for large graphs. */
export const MCL_PRUNING = Object.freeze({ leastEntry: 1 / 4096, largestColumn: 400 });

/** A column stands still if its largest entry and the sum of its squares differ by less. */
const LARGEST_CHAOS = 1e-4;
/** A smaller entry of a limit matrix is what the last step has left of a flow that goes to 0. */
const LEAST_FLOW = 1e-3;
/** Matrices of biological graphs stand still after 10 to 40 steps. */
const MAX_STEPS = 200;

interface Column {
  /** Ascending. */
  readonly rows: Uint32Array;
  readonly values: Float64Array;
}

/**
 * Assigns each node to a cluster.
 * Shape   [nodes]
 * Unit    the least node of the cluster
 * Range   0..nodes − 1
 * Cost    12 bytes for each entry of two matrices of the largest component; time ∝ nodes × largestColumn² × steps
 */
export function clusterByMcl(graph: WeightedGraph, parameters: MclParameters): Uint32Array {
  const nodeCount = graph.offsets.length - 1;
  const clusters = Uint32Array.from({ length: nodeCount }, (_, node) => node);
  const local = new Uint32Array(nodeCount);
  for (const nodes of componentsOf(graph)) {
    // Two nodes can only be together: nothing but their edge holds them.
    if (nodes.length === 2) clusters[nodes[1]] = nodes[0];
    if (nodes.length <= 2) continue;
    for (const [at, node] of nodes.entries()) local[node] = at;
    const limit = flowLimit(nodes, local, graph, parameters);
    const systems = systemsOf(limit);
    for (const [at, node] of nodes.entries()) clusters[node] = systems[at];
    const least = new Map<number, number>();
    for (const node of nodes) {
      const system = clusters[node];
      if (!least.has(system)) least.set(system, node);
      clusters[node] = least.get(system)!;
    }
  }
  return clusters;
}

/** Connected components, each with its nodes in ascending order, by their least nodes. */
function* componentsOf({ offsets, neighbours }: WeightedGraph): Generator<Uint32Array> {
  const nodeCount = offsets.length - 1;
  const isSeen = new Uint8Array(nodeCount);
  for (let start = 0; start < nodeCount; start += 1) {
    if (isSeen[start] === 1) continue;
    isSeen[start] = 1;
    const nodes = [start];
    for (let at = 0; at < nodes.length; at += 1) {
      for (let edge = offsets[nodes[at]]; edge < offsets[nodes[at] + 1]; edge += 1) {
        const neighbour = neighbours[edge];
        if (isSeen[neighbour] === 1) continue;
        isSeen[neighbour] = 1;
        nodes.push(neighbour);
      }
    }
    yield Uint32Array.from(nodes).sort();
  }
}

/** Columns of the limit matrix of one component. @param local  place of each node in the component */
function flowLimit(
  nodes: Uint32Array,
  local: Uint32Array,
  graph: WeightedGraph,
  parameters: MclParameters,
): readonly Column[] {
  let columns: readonly Column[] = Array.from(nodes, (node, at) => firstColumn(node, at, local, graph));
  const sums = new Float64Array(nodes.length);
  for (let step = 0; step < MAX_STEPS; step += 1) {
    let chaos = 0;
    const before = columns;
    columns = before.map((column) => {
      const next = inflated(pruned(expanded(column, before, sums), parameters), parameters);
      chaos = Math.max(chaos, chaosOf(next));
      return next;
    });
    if (chaos < LARGEST_CHAOS) break;
  }
  return columns;
}

/** Weights of a node's edges, with a loop of its largest weight, as shares. */
function firstColumn(
  node: number,
  at: number,
  local: Uint32Array,
  { offsets, neighbours, weights }: WeightedGraph,
): Column {
  const [start, end] = [offsets[node], offsets[node + 1]];
  const rows = new Uint32Array(end - start + 1);
  const values = new Float64Array(end - start + 1);
  let count = 0;
  let largest = 0;
  for (let edge = start; edge < end; edge += 1) largest = Math.max(largest, weights[edge]);
  const add = (row: number, value: number): void => {
    rows[count] = row;
    values[count] = value;
    count += 1;
  };
  let hasLoop = false;
  for (let edge = start; edge < end; edge += 1) {
    const row = local[neighbours[edge]];
    if (!hasLoop && row > at) {
      add(at, largest);
      hasLoop = true;
    }
    add(row, weights[edge]);
  }
  if (!hasLoop) add(at, largest);
  return scaled({ rows, values });
}

/** Column of the squared matrix. @param sums  zeros, one for each row, which the call leaves as zeros */
function expanded(column: Column, columns: readonly Column[], sums: Float64Array): Column {
  const touched: number[] = [];
  for (const [at, middle] of column.rows.entries()) {
    const share = column.values[at];
    const { rows, values } = columns[middle];
    for (let entry = 0; entry < rows.length; entry += 1) {
      const row = rows[entry];
      // Entries are positive, so a sum of 0 has no summand yet.
      if (sums[row] === 0) touched.push(row);
      sums[row] += share * values[entry];
    }
  }
  const rows = Uint32Array.from(touched).sort();
  const values = Float64Array.from(rows, (row) => sums[row]);
  for (const row of rows) sums[row] = 0;
  return { rows, values };
}

/** Drops small entries, and all but the largest ones; of equal ones, the first rows stay. */
function pruned(
  { rows, values }: Column,
  { leastEntry, largestColumn }: Pick<MclParameters, 'leastEntry' | 'largestColumn'>,
): Column {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, value);
  // A column of many small entries keeps its largest, so that it does not become empty.
  const least = Math.min(leastEntry, largest);
  let places = [...rows.keys()].filter((at) => values[at] >= least);
  if (places.length > largestColumn) {
    places.sort((a, b) => values[b] - values[a] || a - b);
    places = places.slice(0, largestColumn).sort((a, b) => a - b);
  }
  return {
    rows: Uint32Array.from(places, (at) => rows[at]),
    values: Float64Array.from(places, (at) => values[at]),
  };
}

/** Raises the entries to the power of the inflation, and scales them to the sum 1. */
function inflated({ rows, values }: Column, { inflationQuarters }: MclParameters): Column {
  // Entries below 1 could all underflow in a high power. As shares of the largest they do not.
  let largest = 0;
  for (const value of values) largest = Math.max(largest, value);
  return scaled({ rows, values: values.map((value) => quarterPower(value / largest, inflationQuarters)) });
}

/** Power of a number in [0, 1] by products and square roots, which are exactly rounded on every machine. */
export function quarterPower(base: number, quarters: number): number {
  const root = Math.sqrt(base);
  let power = 1;
  for (let whole = 0; whole < Math.floor(quarters / 4); whole += 1) power *= base;
  if (quarters % 4 >= 2) power *= root;
  if (quarters % 2 === 1) power *= Math.sqrt(root);
  return power;
}

function scaled({ rows, values }: Column): Column {
  let sum = 0;
  for (const value of values) sum += value;
  return { rows, values: values.map((value) => value / sum) };
}

function chaosOf({ values }: Column): number {
  let [largest, squares] = [0, 0];
  for (const value of values) {
    largest = Math.max(largest, value);
    squares += value * value;
  }
  return largest - squares;
}

/**
 * Systems of attractors of a limit matrix: nodes with flow to themselves, together with the attractors that they flow
 * to. Every node belongs to the system with most of its flow; of equal ones, to the one with the least attractor.
 * Shape   [columns]
 * Unit    the least attractor of the system
 */
function systemsOf(limit: readonly Column[]): Uint32Array {
  const columns = limit.map((column) => pruned(column, { leastEntry: LEAST_FLOW, largestColumn: Infinity }));
  const isAttractor = columns.map(({ rows }, at) => rows.includes(at));
  const parents = Uint32Array.from(columns.keys());
  const rootOf = (node: number): number => {
    let root = node;
    while (parents[root] !== root) root = parents[root];
    parents[node] = root;
    return root;
  };
  for (const [at, { rows }] of columns.entries()) {
    if (!isAttractor[at]) continue;
    for (const row of rows) {
      if (!isAttractor[row]) continue;
      const [one, other] = [rootOf(at), rootOf(row)];
      parents[Math.max(one, other)] = Math.min(one, other);
    }
  }
  return Uint32Array.from(columns, ({ rows, values }, at) => {
    if (isAttractor[at]) return rootOf(at);
    const flows = new Map<number, number>();
    for (const [entry, row] of rows.entries()) {
      const system = rootOf(row);
      flows.set(system, (flows.get(system) ?? 0) + values[entry]);
    }
    let best = rootOf(rows[0]);
    for (const [system, flow] of flows) {
      const most = flows.get(best)!;
      if (flow > most || (flow === most && system < best)) best = system;
    }
    return best;
  });
}
