// @module-tag fast

import { describe, expect, it } from 'vitest';
import { alignHomologSet, effectiveSequences, rowWeights } from '#src/homologs/alignment.js';
import { encodeHomologSets } from '#src/homologs/encode.js';
import { columnsOf, cropOf, type HomologSet, type Homolog } from '#src/homologs/homolog-set.js';
import { withoutHomologs } from '#src/homologs/finder.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { homologProfile, profileRows, unitLogOdds } from '#src/homologs/profile.js';
import { RELATIVE_RULES } from '#src/homologs/rules.js';
import { selectHomologs, selectRounds } from '#src/homologs/select.js';
import { PROFILE_WIDTH } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

const random = seededRandom(17);

function randomProtein(length: number): string {
  return Array.from({ length }, () => AMINO_ACIDS[random.below(20)]).join('');
}

/** The protein with this share of its residues drawn anew. */
function mutated(protein: string, share: number): string {
  return [...protein]
    .map((letter) => (random.below(1_000) < share * 1_000 ? AMINO_ACIDS[random.below(20)] : letter))
    .join('');
}

let homologs = 0;
function homolog(residues: string, given: Partial<Homolog> = {}): Homolog {
  homologs += 1;
  return {
    id: `relative-${homologs}`,
    eValue: 1e-10,
    identity: 0.5,
    coverage: 1,
    round: 1,
    residues,
    start: 0,
    residueStart: 0,
    cigar: `${residues.length}M`,
    ...given,
  };
}

function profileOf(homologSet: HomologSet): Float64Array {
  return homologProfile(alignHomologSet(homologSet));
}

describe('a relative over a protein', () => {
  it('stands where its alignment puts it, with gaps on either side', () => {
    const columns = columnsOf(homolog('XXACDEF', { start: 1, residueStart: 2, cigar: '2M1I2M1D' }), 6);
    expect([...columns]).toEqual([-1, -1, 1, 2, 4, 5, -1]);
  });

  it('is refused where its alignment leaves either of the two, or is no CIGAR', () => {
    expect(() => columnsOf(homolog('ACD', { cigar: '4M' }), 10)).toThrow('leaves its sequences');
    expect(() => columnsOf(homolog('ACD', { start: 8 }), 10)).toThrow('leaves its sequences');
    expect(() => columnsOf(homolog('ACD', { cigar: '3M2Q' }), 10)).toThrow('no CIGAR');
    expect(() => columnsOf(homolog('ACD', { cigar: '99999999999I' }), 10)).toThrow('leaves its sequences');
  });

  it('is shown to the encoder with as much around it as the protein goes on, and a little more', () => {
    const target = 'A'.repeat(100);
    const inner = cropOf(target, { start: 10, end: 20, length: 40, targetStart: 50, targetEnd: 60 });
    expect([inner.residueStart, inner.residues.length]).toEqual([16, 16 + 10 + 26]);
    const outer = cropOf(target, { start: 10, end: 20, length: 40, targetStart: 3, targetEnd: 95 });
    expect([outer.residueStart, outer.residues.length]).toEqual([3, 100]);
  });
});

describe('selected relatives', () => {
  const protein = randomProtein(120);

  it('are those within E-value, coverage and identity, nearest first, each once', () => {
    const good = homolog(mutated(protein, 0.5), { eValue: 1e-5 });
    const near = homolog(mutated(protein, 0.5), { eValue: 1e-9 });
    const others = [
      homolog(mutated(protein, 0.5), { eValue: 0.01 }),
      homolog(mutated(protein, 0.5), { coverage: 0.4 }),
      homolog(mutated(protein, 0.5), { identity: 0.95 }),
      { ...near, eValue: 1e-4 },
    ];
    const { homologs: kept } = selectHomologs(
      { sequence: protein, homologs: [good, ...others, near] },
      RELATIVE_RULES,
    );
    expect(kept).toEqual([near, good]);
  });

  it('leave out near copies of a nearer one, however many there are', () => {
    const first = mutated(protein, 0.5);
    const copies = Array.from({ length: 50 }, () => homolog(mutated(first, 0.01)));
    const other = homolog(mutated(protein, 0.5), { eValue: 1e-6 });
    const { homologs: kept } = selectHomologs(
      { sequence: protein, homologs: [...copies, other] },
      RELATIVE_RULES,
    );
    expect(kept).toEqual([copies.toSorted((a, b) => (a.id < b.id ? -1 : 1))[0], other]);
  });

  it('are at most as many as count, from the nearest to the farthest', () => {
    const all = Array.from({ length: 200 }, (_, index) =>
      homolog(mutated(protein, 0.6), { eValue: 1e-50 * 1.5 ** index }),
    );
    const { homologs: kept, averaged } = selectHomologs({ sequence: protein, homologs: all }, RELATIVE_RULES);
    expect([kept.length, averaged.length]).toEqual([64, RELATIVE_RULES.vectorCount]);
    expect([kept[0], kept.at(-1), averaged[0], averaged.at(-1)]).toEqual([
      all[0],
      all[199],
      all[0],
      all[199],
    ]);
  });
});

describe('relatives of a search in rounds', () => {
  const protein = randomProtein(120);
  const manyHomologs = (round: number) =>
    Array.from({ length: 40 }, (_, index) =>
      homolog(mutated(protein, 0.6), { eValue: 1e-40 * 10 ** index, round }),
    ).filter(({ eValue }) => eValue <= RELATIVE_RULES.maxEValue);

  it('make the profile by the last, and the vectors by all in equal parts', () => {
    const rounds = [manyHomologs(1), manyHomologs(2)];
    const { homologs: kept, averaged } = selectRounds(protein, rounds, RELATIVE_RULES);
    expect(kept).toEqual(rounds[1]);
    expect(averaged.map(({ round }) => round)).toEqual([...Array(8).fill(1), ...Array(8).fill(2)]);
    expect(averaged[0]).toEqual(rounds[0]![0]);
    expect(averaged.at(-1)).toEqual(rounds[1]!.at(-1));
  });

  it('count once where two rounds find them, and of one round where the other finds none', () => {
    const found = manyHomologs(1);
    const { averaged } = selectRounds(protein, [found, found], RELATIVE_RULES);
    expect(new Set(averaged.map(({ id }) => id)).size).toBe(averaged.length);
    expect(averaged).toHaveLength(8);
    expect(selectRounds(protein, [found, []], RELATIVE_RULES).homologs).toEqual(found);
    expect(selectRounds(protein, [[], []], RELATIVE_RULES)).toMatchObject({ homologs: [], averaged: [] });
  });
});

describe('the weights of rows', () => {
  it('let many near copies count like one', () => {
    const protein = randomProtein(200);
    const [one, other] = [mutated(protein, 0.7), mutated(protein, 0.7)];
    const copies = Array.from({ length: 20 }, () => homolog(one));
    const weights = rowWeights(alignHomologSet({ sequence: protein, homologs: [...copies, homolog(other)] }));
    const ofCopies = weights.slice(1, 21).reduce((sum, weight) => sum + weight, 0);
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
    expect(ofCopies).toBeGreaterThan(0.9 * weights[21]);
    expect(ofCopies).toBeLessThan(1.6 * weights[21]);
  });

  it('say how many sequences a family is worth: one alone, few where one row has most of the weight', () => {
    const worth = (homologSet: HomologSet): number => effectiveSequences(alignHomologSet(homologSet));
    const sequence = randomProtein(200);
    expect(worth(withoutHomologs(sequence))).toBe(1);
    const unlike = Array.from({ length: 9 }, () => homolog(randomProtein(200)));
    expect(worth({ sequence, homologs: unlike })).toBeGreaterThan(9.5);
    expect(worth({ sequence, homologs: unlike })).toBeLessThanOrEqual(10);
    // A letter of the first half is one of ten alike, of the other half alone: weights of .55 and nine of .1.
    const partial = Array.from({ length: 9 }, () => homolog(sequence.slice(0, 100)));
    expect(worth({ sequence, homologs: partial })).toBeCloseTo(1.45 ** 2 / (0.55 ** 2 + 9 * 0.1 ** 2), 6);
  });
});

describe("a family's profile", () => {
  it('is what BLOSUM62 expects of a protein without relatives', () => {
    const profile = profileOf(withoutHomologs('W'.repeat(30)));
    const [w, y, g] = ['W', 'Y', 'G'].map((letter) => profile[AMINO_ACIDS.indexOf(letter)]);
    expect(profile.slice(0, 20).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 9);
    expect(w).toBeGreaterThan(0.5);
    expect(y).toBeGreaterThan(g);
  });

  it('follows the relatives where they are many and differ', () => {
    const protein = 'A'.repeat(60);
    const columns = [...'ILVM'];
    const rows = Array.from({ length: 40 }, () =>
      homolog(Array.from({ length: 60 }, () => columns[random.below(4)]).join('')),
    );
    const profile = profileOf({ sequence: protein, homologs: rows });
    const middle = profile.slice(30 * 20, 31 * 20);
    const aliphatic = columns.reduce((sum, letter) => sum + middle[AMINO_ACIDS.indexOf(letter)], 0);
    expect(aliphatic).toBeGreaterThan(0.7);
    expect(middle[AMINO_ACIDS.indexOf('A')]).toBeLessThan(0.25);
  });

  it('has the background where nothing is known, and scores nothing there', () => {
    const profile = profileOf(withoutHomologs('X'.repeat(20)));
    expect(Math.max(...unitLogOdds(profile).map(Math.abs))).toBeLessThan(1);
    const rows = profileRows(profile, 16);
    const own = rows.slice(0, PROFILE_WIDTH).reduce((sum, value) => sum + value * value, 0);
    expect(own / 16 ** 2).toBeCloseTo(1, 0);
  });

  it('fits its rows: no value over a byte, no squared norm over an int16, nothing behind the twenty', () => {
    const rows = profileRows(profileOf({ sequence: 'WC'.repeat(40), homologs: [] }), 16);
    for (let start = 0; start < rows.length; start += PROFILE_WIDTH) {
      const row = rows.slice(start, start + PROFILE_WIDTH);
      expect(row.reduce((sum, value) => sum + value ** 2, 0)).toBeLessThanOrEqual(32_767);
      expect([...row.slice(20)]).toEqual(Array.from({ length: 12 }, () => 0));
    }
  });
});

describe('the tokens of a family', () => {
  const encoder = fakeEncoder();
  const { dimension } = encoder.card;
  const form = profileTokenForm(encoder.card, 16);
  const plain = { ...form, dimension, profileShare: 0 };
  const protein = randomProtein(90);

  function cosine(a: Int8Array, b: Int8Array): number {
    let [dot, first, second] = [0, 0, 0];
    a.forEach((value, at) => ((dot += value * b[at]), (first += value ** 2), (second += b[at] ** 2)));
    return dot / Math.sqrt(first * second);
  }

  it('are those of the encoder for a protein alone, but for rounding', async () => {
    const [own] = await encoder.encode([protein]);
    const [alone] = await encodeHomologSets(encoder, [withoutHomologs(protein)], plain);
    expect(cosine(own.values, alone.values)).toBeGreaterThan(0.999);
  });

  it('are the same bits for the same family, alone or among others, encoded or at hand', async () => {
    const others = Array.from({ length: 5 }, () => homolog(mutated(protein, 0.5)));
    const family = { sequence: protein, homologs: others, averaged: others };
    const vectors = await encoder.encode(others.map(({ residues }) => residues));
    const [alone] = await encodeHomologSets(encoder, [family], form);
    const [, among] = await encodeHomologSets(
      encoder,
      [withoutHomologs('ACDEF'), family, withoutHomologs('W')],
      form,
    );
    const [given] = await encodeHomologSets(encoder, [{ ...family, vectors }], form);
    expect(among).toEqual(alone);
    expect(given).toEqual(alone);
  });

  it('have the length of a token, a share of it for the profile where there is room, and bounded squares', async () => {
    expect([form.dimension, form.profileShare]).toEqual([64, 0.25]);
    const [tokens] = await encodeHomologSets(encoder, [withoutHomologs(protein)], form);
    const row = tokens.values.slice(0, form.dimension);
    const squares = (from: number, to: number): number =>
      row.slice(from, to).reduce((sum, value) => sum + value ** 2, 0);
    expect(Math.sqrt(squares(0, form.dimension))).toBeCloseTo(173, -1);
    expect(squares(dimension, form.dimension) / squares(0, form.dimension)).toBeCloseTo(0.25, 1);
  });

  it('have no room for a profile beside the longest vectors, and then are the vectors alone', () => {
    expect(profileTokenForm({ dimension: 256, inverse_step: 173 }, 16)).toMatchObject({
      dimension: 256,
      profileShare: 0,
    });
    expect(profileTokenForm({ dimension: 64, inverse_step: 173 }, 16)).toMatchObject({
      dimension: 96,
      profileShare: 0.25,
    });
  });
});
