import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MCL_PRUNING, clusterByMcl, quarterPower, type WeightedGraph } from '#src/neighbours/mcl.js';
import { seededRandom } from '#src/random.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`mcl seed ${seed}`);

type Edge = readonly [one: number, other: number, weight: number];

function graphOf(nodeCount: number, edges: readonly Edge[]): WeightedGraph {
  const rows = Array.from({ length: nodeCount }, (): [number, number][] => []);
  for (const [one, other, weight] of edges) {
    rows[one].push([other, weight]);
    rows[other].push([one, weight]);
  }
  for (const row of rows) row.sort((a, b) => a[0] - b[0]);
  const offsets = new Uint32Array(nodeCount + 1);
  rows.forEach(({ length }, node) => (offsets[node + 1] = offsets[node] + length));
  return {
    offsets,
    neighbours: Uint32Array.from(rows.flatMap((row) => row.map(([node]) => node))),
    weights: Float64Array.from(rows.flatMap((row) => row.map(([, weight]) => weight))),
  };
}

const EXACT = { leastEntry: 1e-9, largestColumn: 1_000 };
const clusters = (nodeCount: number, edges: readonly Edge[], inflationQuarters = 8, pruning = EXACT) => [
  ...clusterByMcl(graphOf(nodeCount, edges), { ...pruning, inflationQuarters }),
];

function clique(nodes: readonly number[], weight = 10): Edge[] {
  return nodes.flatMap((one, at) => nodes.slice(at + 1).map((other): Edge => [one, other, weight]));
}

/** Groups of nodes with many close pairs, and a few weak pairs between groups. */
function planted(random: ReturnType<typeof seededRandom>, nodeCount: number): readonly Edge[] {
  const groups = Array.from({ length: nodeCount }, () => random.below(4));
  const edges: Edge[] = [];
  for (let one = 0; one < nodeCount; one += 1) {
    for (let other = one + 1; other < nodeCount; other += 1) {
      const isTogether = groups[one] === groups[other];
      if (random.below(100) >= (isTogether ? 60 : 5)) continue;
      edges.push([one, other, isTogether ? 5 + random.below(1_000) / 100 : 1 + random.below(100) / 100]);
    }
  }
  return edges;
}

/** MCL on a dense matrix, as its definition says, with components of the limit as clusters. */
function denseClusters(nodeCount: number, edges: readonly Edge[], inflation: number): number[] {
  const zeros = (): number[][] =>
    Array.from({ length: nodeCount }, () => new Array<number>(nodeCount).fill(0));
  const scale = (matrix: number[][]): number[][] => {
    for (let column = 0; column < nodeCount; column += 1) {
      const sum = matrix.reduce((total, row) => total + row[column], 0);
      for (const row of matrix) row[column] /= sum;
    }
    return matrix;
  };
  let matrix = zeros();
  for (const [one, other, weight] of edges) matrix[one][other] = matrix[other][one] = weight;
  for (let node = 0; node < nodeCount; node += 1) matrix[node][node] = Math.max(...matrix[node], 0) || 1;
  scale(matrix);
  for (let step = 0; step < 60; step += 1) {
    const squared = zeros();
    for (let i = 0; i < nodeCount; i += 1)
      for (let k = 0; k < nodeCount; k += 1)
        for (let j = 0; j < nodeCount; j += 1) squared[i][j] += matrix[i][k] * matrix[k][j];
    matrix = scale(squared.map((row) => row.map((value) => value ** inflation)));
  }
  const labels = Array.from({ length: nodeCount }, (_, node) => node);
  for (let round = 0; round < nodeCount; round += 1)
    for (let i = 0; i < nodeCount; i += 1)
      for (let j = 0; j < nodeCount; j += 1)
        if (matrix[i][j] > 1e-3) labels[i] = labels[j] = Math.min(labels[i], labels[j]);
  return labels;
}

describe('Markov clustering', () => {
  it('separates two cliques that one weak edge joins, and names clusters by their least node', () => {
    const edges = [...clique([0, 2, 4, 6]), ...clique([1, 3, 5, 7]), [4, 5, 1] as const];
    expect(clusters(9, edges)).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 8]);
  });

  it('keeps pairs and lone nodes, and clusters nothing across components', () => {
    expect(clusters(5, [[1, 4, 0.25]])).toEqual([0, 1, 2, 3, 1]);
    expect(clusters(0, [])).toEqual([]);
  });

  it('gives smaller clusters by a higher inflation', () => {
    const random = seededRandom(seed);
    const edges = planted(random, 60);
    const counts = [5, 8, 16, 40].map((quarters) => new Set(clusters(60, edges, quarters)).size);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
  });

  it('clusters as the definition on a dense matrix does', () => {
    const random = seededRandom(seed + 1);
    for (let round = 0; round < 10; round += 1) {
      const edges = planted(random, 30);
      expect(clusters(30, edges, 8)).toEqual(denseClusters(30, edges, 2));
    }
  });

  it('gives the same clusters whatever the order of the nodes', () => {
    const random = seededRandom(seed + 2);
    const edges = planted(random, 40);
    const order = Array.from({ length: 40 }, (_, node) => 39 - node);
    const mirrored = edges.map(([one, other, weight]): Edge => [order[one], order[other], weight]);
    const pairsOf = (labels: readonly number[]): boolean[] =>
      labels.flatMap((one) => labels.map((other) => one === other));
    const back = clusters(40, mirrored);
    expect(pairsOf(order.map((node) => back[node]))).toEqual(pairsOf(clusters(40, edges)));
  });

  it('puts every node into one cluster however few entries a column may have', () => {
    const random = seededRandom(seed + 3);
    const edges = planted(random, 50);
    for (const largestColumn of [1, 2, 5]) {
      const labels = clusters(50, edges, 8, { leastEntry: 0.1, largestColumn });
      expect(labels.every((label) => labels[label] === label)).toBe(true);
    }
  });

  it('raises to quarters of a power by products and roots', () => {
    for (const quarters of [4, 5, 6, 7, 8, 11, 40]) {
      expect(quarterPower(0.3, quarters)).toBeCloseTo(0.3 ** (quarters / 4), 14);
    }
  });

  it.skipIf(spawnSync('mcl', ['--version']).status !== 0)('clusters as mcl does', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-mcl-'));
    try {
      const random = seededRandom(seed + 4);
      const edges = planted(random, 80);
      const [abc, out] = [join(folder, 'edges.abc'), join(folder, 'out')];
      writeFileSync(abc, edges.map((edge) => `${edge.join('\t')}\n`).join(''));
      expect(spawnSync('mcl', [abc, '--abc', '-I', '2', '-o', out]).status).toBe(0);
      const theirs = new Map<number, number>();
      for (const line of readFileSync(out, 'utf8').trim().split('\n')) {
        const nodes = line.split('\t').map(Number);
        for (const node of nodes) theirs.set(node, Math.min(...nodes));
      }
      const ours = clusters(80, edges, 8, MCL_PRUNING);
      expect(ours).toEqual(ours.map((_, node) => theirs.get(node) ?? node));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
