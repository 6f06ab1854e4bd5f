// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { WalkParameters } from '#src/propagation/parameters.js';
import { createWalk, MASS_ONE } from '#src/propagation/walk.js';
import type { NeighbourRows, WalkHit } from '#src/propagation/rows.js';
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

describe('the walk over the graph of neighbours', () => {
  it('equals plain dense arithmetic on random graphs of proteins of several domains', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededRandom(seed);
      const [count, domains] = [5 + random.below(40), 1 + random.below(3)];
      const edges = randomEdges(count, domains, random);
      const hits = edges.filter(({ from }) => from === 0).map(hitOf);
      const parameters = { ...PARAMETERS, steps: random.below(6) };
      const walk = createWalk(rowsOf(edges, count), parameters);
      const found = walk(hits).map(({ target, mass }) => [target, mass]);
      expect(found, `seed ${seed}`).toEqual(denseWalk(edges, hits, count, domains, parameters));
      expect(walk(hits).map(({ target, mass }) => [target, mass])).toEqual(found);
    }
  });

  it('names the protein from which most weight arrives as the bridge', () => {
    const edges = [edge(0, 2, 0.5), edge(1, 2, 0.001), edge(1, 3, 9)];
    const walk = createWalk(rowsOf(edges, 4), PARAMETERS);
    const found = walk([hitOf(edge(9, 0, 0.001)), hitOf(edge(9, 1, 0.001)), hitOf(edge(9, 2, 5))]);
    expect(found.map(({ target, bridge }) => [target, bridge])).toEqual([
      [0, undefined],
      [1, undefined],
      [2, 1],
      [3, 1],
    ]);
    expect(found.map(({ directMass }) => directMass > 0)).toEqual([true, true, true, false]);
  });

  it('does not connect strangers by two domains of one protein', () => {
    const edges = [edge(0, 1, 0, 1, 0), edge(0, 2, 0, 0, 0)];
    const walk = createWalk(rowsOf(edges, 3), PARAMETERS);
    expect(walk([hitOf(edge(9, 0, 0, 0, 0))]).map(({ target }) => target)).toEqual([0, 2]);
    const lenient = createWalk(rowsOf(edges, 3), { ...PARAMETERS, overlap_256ths: 0 });
    expect(lenient([hitOf(edge(9, 0, 0, 0, 0))]).map(({ target }) => target)).toEqual([0, 1, 2]);
  });

  it('counts a bridge from half of the shorter stretch on', () => {
    const rows = rowsOf([edge(0, 1, 0)], 2);
    const walk = createWalk(rows, PARAMETERS);
    const reach = (targetStart: number, targetEnd: number): number =>
      walk([{ target: 0, eValue: 0, targetStart, targetEnd }]).length;
    expect(reach(50, 400)).toBe(2);
    expect(reach(51, 400)).toBe(1);
    expect(reach(90, 110)).toBe(2);
    expect(reach(91, 111)).toBe(1);
  });

  it('gives a protein that many others hit no more weight to pass on than it received', () => {
    const many = Array.from({ length: 100 }, (_, index) => edge(0, index + 1, 0));
    const walk = createWalk(rowsOf(many, 101), { ...PARAMETERS, steps: 1 });
    const reached = walk([hitOf(edge(9, 0, 0))]).slice(1);
    const sum = reached.reduce((total, { mass }) => total + mass, 0);
    expect(reached).toHaveLength(100);
    expect(sum).toBeLessThanOrEqual((MASS_ONE * PARAMETERS.passed_256ths) / 256);
    expect(sum).toBeGreaterThan(0.79 * MASS_ONE);
  });

  it('avoids the targets that are left out, as bridges and as targets', () => {
    const edges = [edge(0, 1, 0), edge(1, 2, 0), edge(0, 3, 0), edge(3, 4, 0)];
    const walk = createWalk(rowsOf(edges, 5), PARAMETERS);
    const found = walk([hitOf(edge(9, 0, 0))], (target) => target === 1);
    expect(found.map(({ target }) => target)).toEqual([0, 3, 4]);
    const half = walk([hitOf(edge(9, 0, 0))]).find(({ target }) => target === 3)!;
    expect(found[1].mass).toBeGreaterThan(1.9 * half.mass);
  });
});

function edge(from: number, to: number, eValue: number, fromDomain = 0, toDomain = 0): Edge {
  return { from, to, eValue, fromDomain, toDomain };
}

function hitOf({ to, eValue, toDomain }: Edge): WalkHit {
  const targetStart = toDomain * DOMAIN_RESIDUES;
  return { target: to, eValue, targetStart, targetEnd: targetStart + DOMAIN_RESIDUES };
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

function rowsOf(edges: readonly Edge[], count: number): NeighbourRows {
  const start = (domain: number): number => domain * DOMAIN_RESIDUES;
  const offsets = new Uint32Array(count + 1);
  for (const { from } of edges) offsets[from + 1] += 1;
  for (let row = 0; row < count; row += 1) offsets[row + 1] += offsets[row];
  const sorted = [...edges].sort((a, b) => a.from - b.from);
  return {
    offsets,
    neighbours: Uint32Array.from(sorted, ({ to }) => to),
    eValues: Float64Array.from(sorted, ({ eValue }) => eValue),
    ownStarts: Uint16Array.from(sorted, ({ fromDomain }) => start(fromDomain)),
    ownEnds: Uint16Array.from(sorted, ({ fromDomain }) => start(fromDomain + 1)),
    otherStarts: Uint16Array.from(sorted, ({ toDomain }) => start(toDomain)),
    otherEnds: Uint16Array.from(sorted, ({ toDomain }) => start(toDomain + 1)),
  };
}

/** The definition: a dense vector of protein and domain, multiplied with a dense matrix of integers in each step. */
function denseWalk(
  edges: readonly Edge[],
  hits: readonly WalkHit[],
  count: number,
  domains: number,
  { steps, passed_256ths: passed, evalue_factor: factor, largest_evalue: largest }: WalkParameters,
): readonly (readonly number[])[] {
  const size = count * domains;
  const weight = (eValue: number): bigint =>
    eValue > largest ? 0n : BigInt(Math.floor(65_535 / (1 + factor * eValue)));
  const matrix = Array.from({ length: size }, () => Array.from({ length: size }, () => 0n));
  for (const { from, to, eValue, fromDomain, toDomain } of edges) {
    matrix[from * domains + fromDomain][to * domains + toDomain] = weight(eValue);
  }
  let mass = Array.from({ length: size }, () => 0n);
  for (const { target, eValue, targetStart } of hits) {
    const node = target * domains + targetStart / DOMAIN_RESIDUES;
    mass[node] += (weight(eValue) * BigInt(MASS_ONE)) / 65_535n;
  }
  const total = [...mass];
  for (let step = 0; step < steps; step += 1) {
    const next = mass.map(() => 0n);
    matrix.forEach((row, from) => {
      const sum = row.reduce((all, each) => all + each, 0n);
      const divisor = sum > 65_535n ? sum : 65_535n;
      const onward = (mass[from] * BigInt(passed)) / 256n;
      row.forEach((each, to) => (next[to] += (onward * each) / divisor));
    });
    mass = next;
    mass.forEach((each, node) => (total[node] += each));
  }
  return Array.from({ length: count }, (_, target) => {
    const own = total.slice(target * domains, (target + 1) * domains);
    return [target, Number(own.reduce((all, each) => all + each, 0n))];
  }).filter(([, all]) => all > 0);
}
