import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FoundHomolog } from '#src/homologs/homolog-set.js';
import { addHomologSource } from '#src/find-homologs/homolog-sources.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { openHomologRows } from '#src/find-homologs/source-rows.js';
import { seededRandom } from '#src/random.js';
import { BACKGROUND } from '#src/sequence/residue-scales.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';

/*
 * A source of a family whose members are far from each other, of a protein with near and far homologs and a mirror
 * image, and of unrelated proteins.
 */

const seed = Number(process.env.GLOAMING_TEST_SEED ?? 40);
console.log(`source rows seed ${seed}`);
const random = seededRandom(seed);
const drawn = (letters: string, length: number): string =>
  Array.from({ length }, () => letters[random.below(letters.length)]).join('');
/** A thousand letters in the shares that proteins have. */
const NATURAL = [...AMINO_ACIDS]
  .map((letter, at) => letter.repeat(Math.round(1_000 * BACKGROUND[at]!)))
  .join('');
const mutated = (protein: string, percent: number): string =>
  [...protein].map((letter) => (random.below(100) < percent ? drawn(NATURAL, 1) : letter)).join('');

const LENGTH = 240;
const RULES = { maxEValue: 1e-3, minCoverage: 0.5 };
const LIMIT = 1_000;
const ancestor = drawn(NATURAL, LENGTH);
const members = Array.from({ length: 60 }, (_, at) => ({ id: `far${at}`, sequence: mutated(ancestor, 68) }));
/** A protein that a mirror image resembles as much as its homologs do, as repeats and biased stretches do. */
const mirrored = drawn(NATURAL, LENGTH);
const ofMirrored = [
  { id: 'near', sequence: mutated(mirrored, 15) },
  ...[50, 52, 54, 56].map((percent) => ({ id: `distant${percent}`, sequence: mutated(mirrored, percent) })),
];
/** A homolog that has the mirror image beside it. */
const mirror = {
  id: 'mirror',
  sequence: mutated(mirrored, 15) + [...mutated(mirrored, 35)].reverse().join(''),
};
const unrelated = Array.from({ length: 200 }, (_, at) => ({
  id: `u${at}`,
  sequence: drawn(NATURAL, LENGTH),
}));

const folder = mkdtempSync(join(tmpdir(), 'gloaming-source-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A member as a search of another kind would list it: its residues face those of the query one by one. */
const known = ({ id, sequence }: { id: string; sequence: string }): FoundHomolog => ({
  id,
  eValue: 1e-9,
  identity: 0.2,
  coverage: 1,
  round: 1,
  residues: sequence,
  start: 0,
  residueStart: 0,
  cigar: `${LENGTH}M`,
  targetStart: 0,
  targetLength: LENGTH,
});

describe.skipIf((await mmseqsVersion()) === undefined)('rows of a homolog source (Debian: mmseqs2)', () => {
  beforeAll(async () => {
    const fasta = join(folder, 'source.fasta');
    const all = [...members, ...ofMirrored, ...unrelated];
    for (const [name, proteins] of [
      ['varied', all],
      ['mirrored', [...all, mirror]],
    ] as const) {
      writeFileSync(fasta, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
      await addHomologSource(folder, name, [fasta]);
    }
  }, 60_000);
  const open = (name = 'varied') => openHomologRows({ indexesFolder: folder, threads: 1 }, name, RULES);
  const query = { sequence: mutated(ancestor, 72) };

  it('are more if homologs are known already, and each protein is listed once by E-value', async () => {
    const list = await open();
    const alone = await list(query, LIMIT);
    const deep = await list({ ...query, homologs: members.slice(0, 12).map(known) }, LIMIT);
    for (const { id } of [...alone, ...deep]) expect(id).toMatch(/^far/);
    expect(deep.length).toBeGreaterThan(alone.length + 10);
    expect(deep.length).toBeGreaterThan(members.length / 2);
    expect(new Set(deep.map(({ id }) => id)).size).toBe(deep.length);
    const eValues = deep.map(({ eValue }) => eValue);
    expect(eValues).toEqual(eValues.toSorted((a, b) => a - b));
    expect(Math.max(...eValues)).toBeLessThanOrEqual(RULES.maxEValue);
  }, 120_000);

  it('are only those much nearer than what the reversed profile finds, unless they are known', async () => {
    const idsOf = async (name: string, homologs: readonly FoundHomolog[] = []): Promise<string[]> => {
      const listed = await (await open(name))({ sequence: mirrored, homologs }, LIMIT);
      return listed.map(({ id }) => id).sort();
    };
    const all = ofMirrored.map(({ id }) => id).sort();
    expect(await idsOf('varied')).toEqual(all);
    expect(await idsOf('mirrored')).toEqual(['mirror', 'near']);
    expect(await idsOf('mirrored', ofMirrored.map(known))).toEqual([...all, 'mirror'].sort());
  }, 120_000);

  it('do not begin from homologs of great E-values or from copies of the query', async () => {
    const list = await open();
    const alone = await list(query, LIMIT);
    const weak = members.slice(0, 12).map((member) => ({ ...known(member), eValue: 5e-3 }));
    const copies = members.slice(0, 12).map((member) => ({ ...known(member), identity: 0.95 }));
    expect(await list({ ...query, homologs: weak }, LIMIT)).toEqual(alone);
    expect(await list({ ...query, homologs: copies }, LIMIT)).toEqual(alone);
  }, 120_000);
});
