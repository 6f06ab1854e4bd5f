// @module-tag fast

import { expect, it } from 'vitest';
import { thinnedHomologs } from '#src/find-homologs/thinned.js';
import type { HomologFinder } from '#src/homologs/finder.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { selectHomologs } from '#src/homologs/select.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';

const random = seededRandom(3);
const LENGTH = 60;
const HOMOLOGS = 60;
const proteins = Array.from({ length: 60 }, (_, at) => ({ id: `p${at}`, sequence: randomProtein() }));

/** Finds 60 unlike homologs of every protein. */
const finder: HomologFinder = {
  batchProteins: 7,
  find: (queries) =>
    Promise.resolve(
      queries.map(({ sequence }) =>
        selectHomologs({ sequence, homologs: Array.from({ length: HOMOLOGS }, homolog) }, HOMOLOG_RULES),
      ),
    ),
};

it('keeps all homologs of a third of the proteins, and three tenths or a tenth of those of the others', async () => {
  const thinned = thinnedHomologs(finder, HOMOLOG_RULES);
  expect(thinned.batchProteins).toBe(7);
  const homologSets = await thinned.find(proteins);
  const counts = homologSets.map(({ homologs }) => homologs.length);
  const whole = counts.filter((count) => count === HOMOLOGS).length;
  const middle = counts.filter((count) => count >= 12 && count < HOMOLOGS).length;
  const few = counts.filter((count) => count < 12).length;
  for (const share of [whole, middle, few]) expect(share).toBeGreaterThan(10);
  for (const { homologs, averaged } of homologSets) {
    // The vectors of as many homologs as the rules allow are averaged.
    expect(averaged).toHaveLength(Math.min(HOMOLOG_RULES.vectorCount, homologs.length));
    expect(homologs).toEqual(expect.arrayContaining([...averaged]));
  }
});

it('keeps the same homologs of a protein in every call', async () => {
  const thinned = thinnedHomologs(finder, HOMOLOG_RULES);
  const idsOf = async (queries: typeof proteins): Promise<readonly string[][]> =>
    (await thinned.find(queries)).map(({ homologs }) => homologs.map(({ id }) => id));
  expect(await idsOf(proteins.slice(3, 9))).toEqual((await idsOf(proteins)).slice(3, 9));
});

function homolog(_: unknown, at: number) {
  return {
    id: `h${at}`,
    eValue: 10 ** -(10 + at),
    identity: 0.3,
    coverage: 1,
    round: 1,
    residues: randomProtein(),
    start: 0,
    residueStart: 0,
    cigar: `${LENGTH}M`,
  };
}

function randomProtein(): string {
  return Array.from({ length: LENGTH }, () => AMINO_ACIDS[random.below(20)]).join('');
}
