// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { NeighbourGraph } from '#src/neighbours/graph.js';
import { createWalk, MASS_ONE, type WalkHit } from '#src/propagation/walk.js';
import {
  portableExp,
  quantisedWeight,
  rowDivisor,
  WEIGHT_ONE,
  type WalkParameters,
} from '#src/propagation/weights.js';
import { seededRandom, type Random } from '#src/random.js';

const DOMAIN_RESIDUES = 100;
const PARAMETERS: WalkParameters = {
  steps: 3,
  passed_256ths: 205,
  evalue_factor: 10,
  largest_evalue: 10,
  overlap_256ths: 128,
  least_passed: 0,
};

/** An alignment of a domain of one protein with a domain of another. */
interface Edge {
  readonly from: number;
  readonly to: number;
  readonly eValue: number;
  readonly fromDomain: number;
  readonly toDomain: number;
}

describe('the weight of a hit', () => {
  it('is 1 / (1 + 10 E), and 0 above the largest E-value', () => {
    for (const eValue of [1e-60, 1e-9, 0.001, 0.1, 1, 9.99]) {
      const weight = quantisedWeight(Math.log(eValue), PARAMETERS);
      expect(Math.abs(weight - 65_535 / (1 + 10 * eValue))).toBeLessThanOrEqual(1);
    }
    expect(quantisedWeight(Math.log(10.01), PARAMETERS)).toBe(0);
    expect(quantisedWeight(-Infinity, PARAMETERS)).toBe(65_535);
    expect(quantisedWeight(Infinity, PARAMETERS)).toBe(0);
    expect(quantisedWeight(Number.NaN, PARAMETERS)).toBe(0);
  });

  it('has an exponential function without functions that engines implement differently', () => {
    for (let exponent = -60; exponent < 20; exponent += 0.37) {
      expect(portableExp(exponent) / Math.exp(exponent)).toBeCloseTo(1, 12);
    }
    expect(portableExp(-0.5)).toBe(0.6065306597126334);
  });
});

describe('the divisor of the weights of a row', () => {
  it('is the power 7/8 of their sum, and that of one certain hit at least', () => {
    for (const hits of [1, 1.5, 10, 100, 65_536])
      expect(rowDivisor(hits * WEIGHT_ONE) / WEIGHT_ONE / hits ** 0.875).toBeCloseTo(1, 12);
    expect(rowDivisor(256 * WEIGHT_ONE)).toBe(128 * WEIGHT_ONE);
    expect(rowDivisor(0)).toBe(WEIGHT_ONE);
    expect(rowDivisor(WEIGHT_ONE - 1)).toBe(WEIGHT_ONE);
  });
});

describe('the walk over the graph of neighbours', () => {
  it('equals plain dense arithmetic on random graphs of proteins of several domains', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededRandom(seed);
      const [count, domains] = [5 + random.below(40), 1 + random.below(3)];
      const edges = randomEdges(count, domains, random);
      const hits = edges.filter(({ from }) => from === 0).map(hitOf);
      const parameters = { ...PARAMETERS, steps: random.below(6) };
      const walk = createWalk(graphOf(edges, count), parameters);
      const found = walk(hits).map(({ target, mass }) => [target, mass]);
      expect(found, `seed ${seed}`).toEqual(denseWalk(edges, hits, count, domains, parameters));
      expect(walk(hits).map(({ target, mass }) => [target, mass])).toEqual(found);
    }
  });

  it('names the protein from which most weight arrives as the bridge', () => {
    const edges = [edge(0, 2, 0.5), edge(1, 2, 0.001), edge(1, 3, 9)];
    const walk = createWalk(graphOf(edges, 4), PARAMETERS);
    const found = walk([hitOf(edge(9, 0, 0.001)), hitOf(edge(9, 1, 0.001)), hitOf(edge(9, 2, 5))]);
    expect(found.map(({ target, bridge }) => [target, bridge])).toEqual([
      [0, undefined],
      [1, undefined],
      [2, 1],
      [3, 1],
    ]);
    const mass = (eValue: number): number => Math.floor((65_535 / (1 + 10 * eValue) / 65_535) * MASS_ONE);
    const start = 2 * mass(0.001) + mass(5);
    for (const { startMass } of found) expect(startMass / start).toBeCloseTo(1, 3);
  });

  it('knows the weakest hit on the surest path to each protein', () => {
    // To 3 by way of 1 or of 2, whose paths have 0.2 and 0.03 as their weakest hits; 4 is reached by a step more.
    const edges = [edge(0, 3, 5), edge(1, 3, 0.2), edge(2, 3, 0.001), edge(3, 4, 0.0001)];
    const hits = [
      hitOf(edge(9, 0, 0.001)),
      hitOf(edge(9, 1, 0.001)),
      hitOf(edge(9, 2, 0.03)),
      hitOf(edge(9, 4, 1)),
    ];
    const weakest = (steps: number): readonly number[] =>
      createWalk(graphOf(edges, 5), { ...PARAMETERS, steps })(hits).map((each) =>
        Math.exp(each.weakestLogEValue),
      );
    const close = (values: readonly number[]) => values.map((value): unknown => expect.closeTo(value, 6));
    expect(weakest(0)).toEqual(close([0.001, 0.001, 0.03, 1]));
    expect(weakest(1)).toEqual(close([0.001, 0.001, 0.03, 0.03, 1]));
    expect(weakest(2)).toEqual(close([0.001, 0.001, 0.03, 0.03, 0.03]));
  });

  it('keeps the surest paths of the stretches of one protein apart', () => {
    // Protein 1 is reached surely on its domain 0 and weakly on domain 1, by which it resembles protein 2.
    const walk = createWalk(
      graphOf([edge(0, 1, 0.001, 0, 0), edge(0, 1, 0.001, 1, 1), edge(1, 2, 0.001, 1, 0)], 3),
      PARAMETERS,
    );
    const hits = [hitOf(edge(9, 1, 0.0001, 0, 0)), hitOf(edge(9, 1, 0.5, 0, 1))];
    const found = walk(hits).map((each) => [each.target, Math.exp(each.weakestLogEValue)]);
    expect(found).toEqual([
      [1, expect.closeTo(0.0001, 6)],
      [2, expect.closeTo(0.5, 6)],
    ]);
  });

  it('does not connect strangers by two domains of one protein', () => {
    const edges = [edge(0, 1, 0, 1, 0), edge(0, 2, 0, 0, 0)];
    const walk = createWalk(graphOf(edges, 3), PARAMETERS);
    expect(walk([hitOf(edge(9, 0, 0, 0, 0))]).map(({ target }) => target)).toEqual([0, 2]);
    const lenient = createWalk(graphOf(edges, 3), { ...PARAMETERS, overlap_256ths: 0 });
    expect(lenient([hitOf(edge(9, 0, 0, 0, 0))]).map(({ target }) => target)).toEqual([0, 1, 2]);
  });

  it('counts a bridge from half of the shorter stretch on', () => {
    const graph = graphOf([edge(0, 1, 0)], 2);
    const walk = createWalk(graph, PARAMETERS);
    const reach = (targetStart: number, targetEnd: number): number =>
      walk([{ target: 0, logEValue: -Infinity, targetStart, targetEnd }]).length;
    expect(reach(50, 400)).toBe(2);
    expect(reach(51, 400)).toBe(1);
    expect(reach(90, 110)).toBe(2);
    expect(reach(91, 111)).toBe(1);
  });

  it('passes on the eighth root of the number of hits more than a protein of one hit does', () => {
    const many = Array.from({ length: 100 }, (_, index) => edge(0, index + 1, 0));
    const walk = createWalk(graphOf(many, 101), { ...PARAMETERS, steps: 1 });
    const reached = walk([hitOf(edge(9, 0, 0))]).slice(1);
    const sum = reached.reduce((total, { mass }) => total + mass, 0);
    expect(reached).toHaveLength(100);
    const most = (MASS_ONE * PARAMETERS.passed_256ths * 100 ** 0.125) / 256;
    expect(sum).toBeLessThanOrEqual(most);
    expect(sum).toBeGreaterThan(0.99 * most);
  });

  it('avoids the targets that are left out, as bridges and as targets', () => {
    const edges = [edge(0, 1, 0), edge(1, 2, 0), edge(0, 3, 0), edge(3, 4, 0)];
    const walk = createWalk(graphOf(edges, 5), PARAMETERS);
    const found = walk([hitOf(edge(9, 0, 0))], (target) => target === 1);
    expect(found.map(({ target }) => target)).toEqual([0, 3, 4]);
    const half = walk([hitOf(edge(9, 0, 0))]).find(({ target }) => target === 3)!;
    expect(found[1].mass / half.mass).toBeCloseTo(2 ** 0.875, 3);
  });
});

function edge(from: number, to: number, eValue: number, fromDomain = 0, toDomain = 0): Edge {
  return { from, to, eValue, fromDomain, toDomain };
}

function hitOf({ to, eValue, toDomain }: Edge): WalkHit {
  const targetStart = toDomain * DOMAIN_RESIDUES;
  return { target: to, logEValue: Math.log(eValue), targetStart, targetEnd: targetStart + DOMAIN_RESIDUES };
}

/** Random edges, at most one from a protein to another. */
function randomEdges(count: number, domains: number, random: Random): readonly Edge[] {
  const edges: Edge[] = [];
  for (let from = 0; from < count; from += 1) {
    for (let to = 0; to < count; to += 1) {
      if (from === to || random.below(3) > 0) continue;
      // From certain hits to hits beyond the largest E-value.
      const eValue = 12 * random.share() ** (1 + random.below(12));
      edges.push(edge(from, to, eValue, random.below(domains), random.below(domains)));
    }
  }
  return edges;
}

function graphOf(edges: readonly Edge[], count: number): NeighbourGraph {
  const start = (domain: number): number => domain * DOMAIN_RESIDUES;
  const offsets = new Uint32Array(count + 1);
  for (const { from } of edges) offsets[from + 1] += 1;
  for (let row = 0; row < count; row += 1) offsets[row + 1] += offsets[row];
  const sorted = [...edges].sort((a, b) => a.from - b.from);
  return {
    offsets,
    targets: Uint32Array.from(sorted, ({ to }) => to),
    logEValues: Float64Array.from(sorted, ({ eValue }) => Math.log(eValue)),
    affineScores: new Int32Array(sorted.length).fill(1),
    queryStarts: Uint16Array.from(sorted, ({ fromDomain }) => start(fromDomain)),
    queryEnds: Uint16Array.from(sorted, ({ fromDomain }) => start(fromDomain + 1)),
    targetStarts: Uint16Array.from(sorted, ({ toDomain }) => start(toDomain)),
    targetEnds: Uint16Array.from(sorted, ({ toDomain }) => start(toDomain + 1)),
  };
}

/** The definition: a dense vector of protein and domain, multiplied with a dense matrix of integers in each step. */
function denseWalk(
  edges: readonly Edge[],
  hits: readonly WalkHit[],
  count: number,
  domains: number,
  parameters: WalkParameters,
): readonly (readonly number[])[] {
  const size = count * domains;
  const { steps, passed_256ths: passed } = parameters;
  const weight = (logEValue: number): bigint => BigInt(quantisedWeight(logEValue, parameters));
  const matrix = Array.from({ length: size }, () => Array.from({ length: size }, () => 0n));
  for (const { from, to, eValue, fromDomain, toDomain } of edges) {
    matrix[from * domains + fromDomain][to * domains + toDomain] = weight(Math.log(eValue));
  }
  let mass = Array.from({ length: size }, () => 0n);
  for (const { target, logEValue, targetStart } of hits) {
    const node = target * domains + targetStart / DOMAIN_RESIDUES;
    mass[node] += (weight(logEValue) * BigInt(MASS_ONE)) / 65_535n;
  }
  const total = [...mass];
  for (let step = 0; step < steps; step += 1) {
    const next = mass.map(() => 0n);
    matrix.forEach((row, from) => {
      const sum = row.reduce((all, each) => all + each, 0n);
      const divisor = rowDivisor(Number(sum));
      const onward = (mass[from] * BigInt(passed)) / 256n;
      row.forEach((each, to) => (next[to] += BigInt(Math.floor(Number(onward * each) / divisor))));
    });
    mass = next;
    mass.forEach((each, node) => (total[node] += each));
  }
  return Array.from({ length: count }, (_, target) => {
    const own = total.slice(target * domains, (target + 1) * domains);
    return [target, Number(own.reduce((all, each) => all + each, 0n))];
  }).filter(([, all]) => all > 0);
}
