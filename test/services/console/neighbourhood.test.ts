// @module-tag fast

import { describe, expect, it } from 'vitest';
import { emptyEdges, type NeighbourGraph } from '#src/neighbours/graph.js';
import type { Release } from '#src/release/release.js';
import { seededRandom } from '#src/random.js';
import { neighbourhoodOf } from '#src/services/console/neighbourhood.js';

/* The drawn surroundings of one protein in the graph of neighbours. */

type Rows = readonly (readonly (readonly [target: number, logEValue: number])[])[];

function graphOf(rows: Rows): NeighbourGraph {
  const edges = emptyEdges(rows.flat().length);
  const offsets = [0];
  let edge = 0;
  for (const row of rows) {
    for (const [target, logEValue] of row) {
      edges.targets[edge] = target;
      edges.logEValues[edge] = logEValue;
      edge += 1;
    }
    offsets.push(edge);
  }
  return { ...edges, offsets: Uint32Array.from(offsets) };
}

const RELEASE = {
  targets: {
    id: (target: number) => `P${target}`,
    find: (id: string) => (/^P\d+$/.test(id) ? Number(id.slice(1)) : undefined),
    attributes: () => ({}),
  },
} as unknown as Release;

const idsOf = (rows: Rows, id: string) =>
  neighbourhoodOf(RELEASE, graphOf(rows), id).proteins.map(({ id: each, steps }) => [each, steps]);

describe('the neighbourhood of a protein', () => {
  it('has its neighbours by E-value, then theirs by the weaker edge of the path', () => {
    const rows: Rows = [
      [
        [1, -20],
        [2, -5],
      ],
      [
        [3, -1],
        [0, -20],
      ],
      [[4, -9]],
      [[5, -50]],
      [],
      [],
    ];
    expect(idsOf(rows, 'P0')).toEqual([
      ['P0', 0],
      ['P1', 1],
      ['P2', 1],
      ['P4', 2],
      ['P3', 2],
    ]);
    expect(idsOf(rows, 'P4')).toEqual([['P4', 0]]);
  });

  it('has each pair once, with the smaller E-value of both rows', () => {
    const { edges } = neighbourhoodOf(RELEASE, graphOf([[[1, -3]], [[0, -7]]]), 'P0');
    expect(edges).toEqual([{ source: 1, target: 0, log_expected_false_hits: -7 }]);
  });

  it('has at most 300 proteins, all edges of the centre, and five a row of the others', () => {
    const random = seededRandom(3);
    const rows = Array.from({ length: 5_000 }, (_, protein) =>
      Array.from({ length: 100 }, (__, at): [number, number] => {
        const other = random.below(4_999);
        return [other < protein ? other : other + 1, at - 100];
      }),
    );
    const { proteins, edges, left_out_count: leftOut } = neighbourhoodOf(RELEASE, graphOf(rows), 'P7');
    expect(proteins).toHaveLength(300);
    const reached = new Set([7, ...rows[7].flatMap(([near]) => [near, ...rows[near].map(([far]) => far)])]);
    expect(leftOut).toBe(reached.size - 300);
    const near = new Set(rows[7].map(([target]) => target));
    const ofCentre = edges.filter(({ source, target }) => source === 0 || target === 0);
    expect(ofCentre.length).toBeGreaterThanOrEqual(near.size);
    for (let at = 1; at < proteins.length; at += 1) {
      expect(edges.filter(({ source }) => source === at).length).toBeLessThanOrEqual(5);
    }
  });

  it('is refused for a protein that the release does not have', () => {
    expect(() => idsOf([[]], 'Q1')).toThrow('The release has no protein of that id.');
  });
});
