import { describe, expect, it } from 'vitest';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { frozenRandom } from '#src/random.js';
import { simulateProteins, type SimulatedProtein } from '#src/demo/simulate.js';
import { foundHomologs, selfCheckOf, trueHomologs } from '#src/demo/check.js';
import { evolve, populate } from '#src/demo/evolution.js';
import { ENVIRONMENT_FREQUENCIES } from '#src/demo/structure.js';
import { canonicalSha256 } from '#src/canonical.js';
import { normaliseProtein } from '#src/sequence/protein.js';

const demo = simulateProteins(1, 2_000);

describe('simulated proteins', () => {
  it('are bit-identical for equal seeds, and differ for another seed', () => {
    // A golden value for every machine and version of Node. A change of it changes the demo database.
    expect(canonicalSha256(simulateProteins(7, 200))).toBe(
      '0248611847cd5969ab33c04d3f00817334befd12f0992504475083e351c1ab93',
    );
    expect(canonicalSha256(simulateProteins(8, 200))).not.toBe(canonicalSha256(simulateProteins(7, 200)));
  });

  it('have unique ids, and sequences that normalisation does not change', () => {
    expect(new Set(demo.proteins.map(({ id }) => id)).size).toBe(2_000);
    for (const { sequence } of demo.proteins) expect(normaliseProtein(sequence).sequence).toBe(sequence);
  });

  it('are in random order: the members of a family are not adjacent', () => {
    const positions = demo.proteins.flatMap(({ family }, index) => (family === 'F001' ? [index] : []));
    expect(Math.max(...positions) - Math.min(...positions)).toBeGreaterThan(500);
  });

  it('are close and remote homologs within a family: identities from the twilight zone to 90 %, without copies', () => {
    const identities = familyPairs(demo.proteins, 4).map(([a, b]) => identityOf(a.sequence, b.sequence));
    identities.sort((left, right) => left - right);
    const quantile = (share: number): number => identities[Math.floor(share * (identities.length - 1))]!;
    expect(quantile(0.05)).toBeLessThan(0.28);
    expect(quantile(0.5)).toBeGreaterThan(0.3);
    expect(quantile(0.5)).toBeLessThan(0.5);
    expect(quantile(0.95)).toBeGreaterThan(0.75);
    expect(quantile(1)).toBeLessThan(1);
  });

  it('are homologs across families that share a domain', () => {
    const owners = new Map<string, Set<string>>();
    for (const { family, domains } of demo.proteins) {
      for (const domain of domains) owners.set(domain, (owners.get(domain) ?? new Set()).add(family!));
    }
    expect([...owners.values()].filter((families) => families.size > 1).length).toBeGreaterThan(5);
  });

  it('without a family have no homologs', () => {
    const homologSource = demo.proteins.filter(({ family }) => family === undefined);
    expect(homologSource).toHaveLength(400);
    expect(homologSource.flatMap(({ id }) => trueHomologs(demo, id))).toEqual([]);
  });

  it('have invented species in a tree whose root is its own parent', () => {
    const nodes = new Map(demo.taxonomy.nodes.map((node) => [node.taxid, node]));
    for (const { taxid, organism } of demo.proteins) {
      expect(nodes.get(taxid)).toMatchObject({ rank: 'species', name: organism });
      const ranks: string[] = [];
      for (let node = nodes.get(taxid)!; ; node = nodes.get(node.parentTaxid)!) {
        ranks.push(node.rank);
        if (node.parentTaxid === node.taxid) break;
      }
      expect(ranks).toEqual(['species', 'genus', 'phylum', 'domain', 'no rank']);
    }
  });

  it('lack some annotation, as real proteins do', () => {
    const annotated = demo.proteins.filter(({ ecClass }) => ecClass !== undefined).length;
    expect(annotated).toBeGreaterThan(500);
    expect(annotated).toBeLessThan(1_200);
    for (const { ecClass } of demo.proteins)
      if (ecClass !== undefined) expect(ecClass).toMatch(/^[1-7](\.\d+){3}$/);
  });
});

describe('evolution', () => {
  const environments = ENVIRONMENT_FREQUENCIES.map((_, environment) => environment);

  it('substitutes once per site and unit of time on average, including back and repeated substitutions', () => {
    const random = frozenRandom(2);
    const time = 2 / 32;
    const traits = Array.from({ length: 102 }, (_, site) => ({ environment: site % 6, rateClass: 2 }));
    let changed = 0;
    let compared = 0;
    for (let repeat = 0; repeat < 1_000; repeat += 1) {
      const before = populate(traits, random);
      const after = evolve(before, time, random);
      // An insertion or deletion shifts the following sites, which are not substitutions.
      if (after.residues.length !== before.residues.length) continue;
      compared += before.residues.length;
      changed += before.residues.filter((residue, site) => residue !== after.residues[site]).length;
    }
    expect(compared).toBeGreaterThan(80_000);
    expect(changed / compared / time).toBeGreaterThan(0.93);
    expect(changed / compared / time).toBeLessThan(1.03);
  });

  it.each(environments)('keeps the composition of environment %i, however long it goes on', (environment) => {
    const random = frozenRandom(4 + environment);
    const traits = Array.from({ length: 5_000 }, () => ({ environment, rateClass: 3 }));
    const now = evolve(populate(traits, random), 1, random);
    const residues = now.residues.filter((_, site) => now.environments[site] === environment);
    for (const [residue, share] of ENVIRONMENT_FREQUENCIES[environment].entries()) {
      const seen = residues.filter((each) => each === residue).length / residues.length;
      expect(Math.abs(seen - share), AMINO_ACIDS[residue]).toBeLessThan(0.025);
    }
  });

  it('has the amino-acid preferences of real structures in each environment', () => {
    const shareOf = (environment: number, residues: string): number =>
      [...residues].reduce(
        (sum, letter) => sum + ENVIRONMENT_FREQUENCIES[environment][AMINO_ACIDS.indexOf(letter)],
        0,
      );
    const [helixBuried, helixExposed, strandBuried, strandExposed, , loopExposed] = environments;
    expect(shareOf(helixBuried, 'AVILMF')).toBeGreaterThan(2 * shareOf(helixExposed, 'AVILMF'));
    expect(shareOf(strandBuried, 'VIYFT')).toBeGreaterThan(1.4 * shareOf(helixBuried, 'VIYFT'));
    expect(shareOf(loopExposed, 'GPNDS')).toBeGreaterThan(2 * shareOf(strandExposed, 'GPNDS'));
  });
});

describe('the self-check', () => {
  it('takes a protein with known homologs and counts those among the first ranks', () => {
    const check = selfCheckOf(demo);
    expect(check.homologs).toEqual(trueHomologs(demo, check.query.id));
    expect(check.homologs).not.toContain(check.query.id);
    const { query, homologs } = check;
    const strangers = demo.proteins
      .map(({ id }) => id)
      .filter((id) => id !== query.id && !homologs.includes(id));
    expect(foundHomologs(check, [query.id, ...homologs, ...strangers])).toBe(homologs.length);
    expect(foundHomologs(check, [strangers[0]!, query.id, ...homologs])).toBe(homologs.length - 1);
    expect(foundHomologs(check, strangers)).toBe(0);
  });
});

/** A few evenly spaced pairs of each family. */
function familyPairs(
  proteins: readonly SimulatedProtein[],
  perFamily: number,
): [SimulatedProtein, SimulatedProtein][] {
  const members = new Map<string, SimulatedProtein[]>();
  for (const protein of proteins) {
    if (protein.family !== undefined)
      members.set(protein.family, [...(members.get(protein.family) ?? []), protein]);
  }
  return [...members.values()].flatMap((family) =>
    Array.from({ length: perFamily }, (_, pair): [SimulatedProtein, SimulatedProtein] => [
      family[(pair * 7) % family.length]!,
      family[(pair * 13 + 1) % family.length]!,
    ]).filter(([a, b]) => a !== b),
  );
}

/** Share of identical pairs in a global alignment with match 2, mismatch −1, gap −2 per residue. */
function identityOf(a: string, b: string): number {
  // Per cell: score, identical pairs and aligned pairs of the best alignment that ends there.
  let above = Array.from({ length: b.length + 1 }, (_, j) => [-2 * j, 0, 0]);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [[-2 * i, 0, 0]];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const [score, same, pairs] = above[j - 1]!;
      let best = [score! + (isSame ? 2 : -1), same! + Number(isSame), pairs! + 1];
      for (const gapped of [above[j]!, row[j - 1]!]) {
        if (gapped[0]! - 2 > best[0]!) best = [gapped[0]! - 2, gapped[1]!, gapped[2]!];
      }
      row.push(best);
    }
    above = row;
  }
  const [, same, pairs] = above[b.length]!;
  return same! / Math.max(1, pairs!);
}
