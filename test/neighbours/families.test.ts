// @module-tag fast

import { describe, expect, it } from 'vitest';
import { agreementOf } from '#bench/clusters/agreement.js';
import { FAMILY_PARAMETERS, familiesOf, weightedGraph } from '#src/neighbours/families.js';
import type { NeighbourGraph } from '#src/neighbours/graph.js';
import { edgeColumns, type GivenEdge } from '../tools/neighbours.js';

/** The alignments of the given edges span 9 residues of the query and 6 of the target. */
const lengthOf = (target: number): number => (target === 7 ? 100 : 9);

function graphOf(targetCount: number, edges: readonly GivenEdge[]): NeighbourGraph {
  const { queries, columns } = edgeColumns(edges);
  const offsets = new Uint32Array(targetCount + 1);
  for (const query of queries) offsets[query + 1] += 1;
  for (let target = 0; target < targetCount; target += 1) offsets[target + 1] += offsets[target];
  return { ...columns, offsets };
}

const log = (eValue: number): number => Math.log(eValue);
const membersOf = (targetCount: number, edges: readonly GivenEdge[], changed = {}) =>
  familiesOf(graphOf(targetCount, edges), lengthOf, { ...FAMILY_PARAMETERS, ...changed }).map(
    ({ members }) => members,
  );

const EDGES: readonly GivenEdge[] = [
  { query: 0, target: 1, log: log(1e-9) },
  { query: 0, target: 2, log: log(1e-9) },
  { query: 1, target: 2, log: log(1e-4) },
  { query: 3, target: 4, log: log(0.5) },
  { query: 4, target: 3, log: log(1e-3) },
  { query: 5, target: 6, log: log(0.2) },
  { query: 6, target: 7, log: log(1e-20) },
];

describe('families of a database', () => {
  it('hold every target once, the largest family first', () => {
    expect(membersOf(9, EDGES)).toEqual([[0, 1, 2], [3, 4], [5], [6], [7], [8]]);
    expect(membersOf(2, [])).toEqual([[0], [1]]);
    expect(membersOf(0, [])).toEqual([]);
  });

  it('are made of pairs up to the largest E-value that span enough of both proteins', () => {
    expect(membersOf(9, EDGES, { largestEValue: 0.3 })).toContainEqual([5, 6]);
    expect(membersOf(9, EDGES, { leastCoverage: 0 })).toContainEqual([6, 7]);
    expect(membersOf(9, EDGES, { leastCoverage: 0.9 })).toHaveLength(9);
  });

  it('are represented by the member with the closest pairs, and of equal ones by the longest', () => {
    const families = familiesOf(graphOf(9, EDGES), lengthOf, { ...FAMILY_PARAMETERS, leastCoverage: 0 });
    const representatives = families.map(({ representative }) => representative);
    expect(representatives).toEqual([0, 3, 7, 5, 8]);
  });

  it('weigh a pair by the smaller E-value of both directions, within bounds', () => {
    const graph = weightedGraph(graphOf(9, EDGES), lengthOf, { ...FAMILY_PARAMETERS, largestEValue: 1 });
    const weightOf = (one: number, other: number): number => {
      const row = [...graph.neighbours.subarray(graph.offsets[one], graph.offsets[one + 1])];
      return graph.weights[graph.offsets[one] + row.indexOf(other)];
    };
    expect(weightOf(3, 4)).toBe(weightOf(4, 3));
    expect(weightOf(4, 3)).toBe(3);
    expect(weightOf(5, 6)).toBeCloseTo(1 - Math.log10(0.2), 10);
    expect(graph.neighbours.length).toBe(2 * 5);
  });
});

describe('the agreement of clusters with classes', () => {
  it('is that of the definitions', () => {
    const equal = agreementOf(['a', 'a', 'b', 'b'], [7, 7, 1, 1]);
    expect(equal).toMatchObject({ adjustedRand: 1, purity: 1, completeness: 1, pairRecall: 1 });
    // One pair of 15 is together in both; 3 and 4 pairs are in one of them. H(cluster) is ln 3, half of it conditional.
    const other = agreementOf(['a', 'a', 'a', 'b', 'b', 'c'], [0, 0, 1, 1, 2, 2]);
    expect(other.adjustedRand).toBeCloseTo((1 - 12 / 15) / (3.5 - 12 / 15), 10);
    expect(other.completeness).toBeCloseTo(0.5, 10);
    expect(other.purity).toBeCloseTo(4 / 6, 10);
    expect(other.pairPrecision).toBeCloseTo(1 / 3, 10);
  });
});
