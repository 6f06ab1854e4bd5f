// @module-tag fast

import { describe, expect, it } from 'vitest';
import { alignHomologSet, effectiveSequences, rowWeights } from '#src/homologs/alignment.js';
import { encodeHomologSets } from '#src/homologs/encode.js';
import { columnsOf, cropOf, type HomologSet, type Homolog } from '#src/homologs/homolog-set.js';
import { withoutHomologs } from '#src/homologs/finder.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { homologProfile, profileRows, unitLogOdds } from '#src/homologs/profile.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { selectHomologs, selectRounds } from '#src/homologs/select.js';
import { PROFILE_WIDTH } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

const random = seededRandom(17);

function randomProtein(length: number): string {
  return Array.from({ length }, () => AMINO_ACIDS[random.below(20)]).join('');
}

/** Replaces a share of the residues by random ones. */
function mutated(protein: string, share: number): string {
  return [...protein]
    .map((letter) => (random.below(1_000) < share * 1_000 ? AMINO_ACIDS[random.below(20)] : letter))
    .join('');
}

let homologs = 0;
function homolog(residues: string, members: Partial<Homolog> = {}): Homolog {
  homologs += 1;
  return {
    id: `homolog-${homologs}`,
    eValue: 1e-10,
    identity: 0.5,
    coverage: 1,
    round: 1,
    residues,
    start: 0,
    residueStart: 0,
    cigar: `${residues.length}M`,
    ...members,
  };
}

function profileOf(homologSet: HomologSet): Float64Array {
  return homologProfile(alignHomologSet(homologSet));
}

describe('the alignment of a homolog to a protein', () => {
  it('maps each residue of the homolog to a column, with insertions and deletions', () => {
    const columns = columnsOf(homolog('XXACDEF', { start: 1, residueStart: 2, cigar: '2M1I2M1D' }), 6);
    expect([...columns]).toEqual([-1, -1, 1, 2, 4, 5, -1]);
  });

  it('is a failure if the CIGAR is malformed or runs past the end of either sequence', () => {
    expect(() => columnsOf(homolog('ACD', { cigar: '4M' }), 10)).toThrow(
      'runs past the end of its sequences',
    );
    expect(() => columnsOf(homolog('ACD', { start: 8 }), 10)).toThrow('runs past the end of its sequences');
    expect(() => columnsOf(homolog('ACD', { cigar: '3M2Q' }), 10)).toThrow('not a CIGAR');
    expect(() => columnsOf(homolog('ACD', { cigar: '99999999999I' }), 10)).toThrow(
      'runs past the end of its sequences',
    );
  });

  it('gets flanks for the encoder that are six residues longer than the unaligned ends of the protein', () => {
    const target = 'A'.repeat(100);
    const inner = cropOf(target, { start: 10, end: 20, length: 40, targetStart: 50, targetEnd: 60 });
    expect([inner.residueStart, inner.residues.length]).toEqual([16, 16 + 10 + 26]);
    const outer = cropOf(target, { start: 10, end: 20, length: 40, targetStart: 3, targetEnd: 95 });
    expect([outer.residueStart, outer.residues.length]).toEqual([3, 100]);
  });
});

describe('selected homologs', () => {
  const protein = randomProtein(120);

  it('satisfy the bounds on E-value, coverage and identity, in order of E-value, each id once', () => {
    const good = homolog(mutated(protein, 0.5), { eValue: 1e-5 });
    const near = homolog(mutated(protein, 0.5), { eValue: 1e-9 });
    const others = [
      homolog(mutated(protein, 0.5), { eValue: 0.01 }),
      homolog(mutated(protein, 0.5), { coverage: 0.4 }),
      homolog(mutated(protein, 0.5), { identity: 0.95 }),
      { ...near, eValue: 1e-4 },
    ];
    const { homologs: selected } = selectHomologs(
      { sequence: protein, homologs: [good, ...others, near] },
      HOMOLOG_RULES,
    );
    expect(selected).toEqual([near, good]);
  });

  it('contain no near copy of a homolog with a smaller E-value, whatever the number of copies', () => {
    const first = mutated(protein, 0.5);
    const copies = Array.from({ length: 50 }, () => homolog(mutated(first, 0.01)));
    const other = homolog(mutated(protein, 0.5), { eValue: 1e-6 });
    const { homologs: selected } = selectHomologs(
      { sequence: protein, homologs: [...copies, other] },
      HOMOLOG_RULES,
    );
    expect(selected).toEqual([copies.toSorted((a, b) => (a.id < b.id ? -1 : 1))[0], other]);
  });

  it('of unknown letters alone, and of other columns, are no copies', () => {
    const unknown = ['X', 'X'].map((letter) => homolog(letter.repeat(120)));
    const ends = [homolog(protein.slice(0, 50)), homolog(protein.slice(50), { start: 50 })];
    const { homologs: selected } = selectHomologs(
      { sequence: protein, homologs: [...unknown, ...ends] },
      HOMOLOG_RULES,
    );
    expect(selected).toHaveLength(4);
  });

  it('are limited to the profile count, at even ranks from the smallest to the largest E-value', () => {
    const all = Array.from({ length: 200 }, (_, index) =>
      homolog(mutated(protein, 0.6), { eValue: 1e-50 * 1.5 ** index }),
    );
    const { homologs: selected, averaged } = selectHomologs(
      { sequence: protein, homologs: all },
      HOMOLOG_RULES,
    );
    expect([selected.length, averaged.length]).toEqual([64, HOMOLOG_RULES.vectorCount]);
    expect([selected[0], selected.at(-1), averaged[0], averaged.at(-1)]).toEqual([
      all[0],
      all[199],
      all[0],
      all[199],
    ]);
  });
});

describe('homologs of a search in two rounds', () => {
  const protein = randomProtein(120);
  const manyHomologs = (round: number) =>
    Array.from({ length: 40 }, (_, index) =>
      homolog(mutated(protein, 0.6), { eValue: 1e-40 * 10 ** index, round }),
    ).filter(({ eValue }) => eValue <= HOMOLOG_RULES.maxEValue);

  it('give a profile from the last round, and averaged vectors from both rounds in equal parts', () => {
    const rounds = [manyHomologs(1), manyHomologs(2)];
    const { homologs: selected, averaged } = selectRounds(protein, rounds, HOMOLOG_RULES);
    expect(selected).toEqual(rounds[1]);
    expect(averaged.map(({ round }) => round)).toEqual([...Array(8).fill(1), ...Array(8).fill(2)]);
    expect(averaged[0]).toEqual(rounds[0]![0]);
    expect(averaged.at(-1)).toEqual(rounds[1]!.at(-1));
  });

  it('count once if both rounds find them, and come from one round if the other finds none', () => {
    const hits = manyHomologs(1);
    const { averaged } = selectRounds(protein, [hits, hits], HOMOLOG_RULES);
    expect(new Set(averaged.map(({ id }) => id)).size).toBe(averaged.length);
    expect(averaged).toHaveLength(8);
    expect(selectRounds(protein, [hits, []], HOMOLOG_RULES).homologs).toEqual(hits);
    expect(selectRounds(protein, [[], []], HOMOLOG_RULES)).toMatchObject({ homologs: [], averaged: [] });
  });
});

describe('row weights', () => {
  it('give many equal rows about the total weight of a single row', () => {
    const protein = randomProtein(200);
    const [one, other] = [mutated(protein, 0.7), mutated(protein, 0.7)];
    const copies = Array.from({ length: 20 }, () => homolog(one));
    const weights = rowWeights(alignHomologSet({ sequence: protein, homologs: [...copies, homolog(other)] }));
    const ofCopies = weights.slice(1, 21).reduce((sum, weight) => sum + weight, 0);
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
    expect(ofCopies).toBeGreaterThan(0.9 * weights[21]);
    expect(ofCopies).toBeLessThan(1.6 * weights[21]);
  });

  it('give an effective number of sequences: 1 for a single protein, few if one row has most of the weight', () => {
    const effective = (homologSet: HomologSet): number => effectiveSequences(alignHomologSet(homologSet));
    const sequence = randomProtein(200);
    expect(effective(withoutHomologs(sequence))).toBe(1);
    const unlike = Array.from({ length: 9 }, () => homolog(randomProtein(200)));
    expect(effective({ sequence, homologs: unlike })).toBeGreaterThan(9.5);
    expect(effective({ sequence, homologs: unlike })).toBeLessThanOrEqual(10);
    // Ten rows share each column of the first half; the protein alone covers the second. Weights: .55 and nine of .1.
    const partial = Array.from({ length: 9 }, () => homolog(sequence.slice(0, 100)));
    expect(effective({ sequence, homologs: partial })).toBeCloseTo(1.45 ** 2 / (0.55 ** 2 + 9 * 0.1 ** 2), 6);
  });
});

describe('the profile of a homolog set', () => {
  it('follows BLOSUM62 for a protein without homologs', () => {
    const profile = profileOf(withoutHomologs('W'.repeat(30)));
    const [w, y, g] = ['W', 'Y', 'G'].map((letter) => profile[AMINO_ACIDS.indexOf(letter)]);
    expect(profile.slice(0, 20).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 9);
    expect(w).toBeGreaterThan(0.5);
    expect(y).toBeGreaterThan(g);
  });

  it('follows the homologs if they are many and varied', () => {
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

  it('is the background for unknown residues, whose rows have a dot product that scores about zero', () => {
    const profile = profileOf(withoutHomologs('X'.repeat(20)));
    expect(Math.max(...unitLogOdds(profile).map(Math.abs))).toBeLessThan(1);
    const rows = profileRows(profile, 16);
    const own = rows.slice(0, PROFILE_WIDTH).reduce((sum, value) => sum + value * value, 0);
    expect(own / 16 ** 2).toBeCloseTo(1, 0);
  });

  it('is quantised to rows with squared norms within int16 and zeros after the twenty values', () => {
    const rows = profileRows(profileOf({ sequence: 'WC'.repeat(40), homologs: [] }), 16);
    for (let start = 0; start < rows.length; start += PROFILE_WIDTH) {
      const row = rows.slice(start, start + PROFILE_WIDTH);
      expect(row.reduce((sum, value) => sum + value ** 2, 0)).toBeLessThanOrEqual(32_767);
      expect([...row.slice(20)]).toEqual(Array.from({ length: 12 }, () => 0));
    }
  });
});

describe('profile tokens', () => {
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

  it('equal the tokens of the encoder, except for rounding, if a protein has no homologs', async () => {
    const [own] = await encoder.encode([protein]);
    const [alone] = await encodeHomologSets(encoder, [withoutHomologs(protein)], plain);
    expect(cosine(own.values, alone.values)).toBeGreaterThan(0.999);
  });

  it('do not depend on the batch, nor on whether vectors were given or encoded', async () => {
    const others = Array.from({ length: 5 }, () => homolog(mutated(protein, 0.5)));
    const homologSet = { sequence: protein, homologs: others, averaged: others };
    const vectors = await encoder.encode(others.map(({ residues }) => residues));
    const [alone] = await encodeHomologSets(encoder, [homologSet], form);
    const [, batched] = await encodeHomologSets(
      encoder,
      [withoutHomologs('ACDEF'), homologSet, withoutHomologs('W')],
      form,
    );
    const [withVectors] = await encodeHomologSets(encoder, [{ ...homologSet, vectors }], form);
    expect(batched).toEqual(alone);
    expect(withVectors).toEqual(alone);
  });

  it('need one encoding of a homolog that several proteins share', async () => {
    const others = Array.from({ length: 3 }, () => homolog(mutated(protein, 0.5)));
    const homologSet = { sequence: protein, homologs: others, averaged: others };
    const second = { ...homologSet, sequence: mutated(protein, 0.2) };
    const encoded: string[] = [];
    const counting = {
      encode: (sequences: readonly string[]) => {
        encoded.push(...sequences);
        return encoder.encode(sequences);
      },
    };
    const tokens = await encodeHomologSets(counting, [homologSet, second, homologSet], form);
    const alone = await encodeHomologSets(encoder, [second], form);
    expect(encoded).toHaveLength(2 + others.length);
    expect(tokens[1]).toEqual(alone[0]);
    expect(tokens[2]).toEqual(tokens[0]);
  });

  it('have the norm of encoder tokens, a quarter of whose square belongs to the log odds', async () => {
    expect([form.dimension, form.profileShare]).toEqual([64, 0.25]);
    const [tokens] = await encodeHomologSets(encoder, [withoutHomologs(protein)], form);
    const row = tokens.values.slice(0, form.dimension);
    const squares = (from: number, to: number): number =>
      row.slice(from, to).reduce((sum, value) => sum + value ** 2, 0);
    expect(Math.sqrt(squares(0, form.dimension))).toBeCloseTo(173, -1);
    expect(squares(dimension, form.dimension) / squares(0, form.dimension)).toBeCloseTo(0.25, 1);
  });

  it('have no log odds if the encoder already has the largest token dimension', () => {
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
