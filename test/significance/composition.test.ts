// @module-tag fast

import { expect, test } from 'vitest';
import { BACKGROUND } from '#src/sequence/residue-scales.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { compositionExcess, compositionOf, pairComposition } from '#src/significance/composition.js';

const ratioOf = (a: string, b: string): number =>
  pairComposition(compositionOf(a), compositionOf(b)).composition;
const backgroundOf = (letter: string): number => BACKGROUND[AMINO_ACIDS.indexOf(letter)];

test('a composition has the length, the cysteines, and shares of the amino acids alone', () => {
  const { length, cysteines, shares } = compositionOf('CCAXXX');
  expect({ length, cysteines }).toEqual({ length: 6, cysteines: 2 });
  expect(shares[AMINO_ACIDS.indexOf('C')]).toBeCloseTo(2 / 3 / Math.sqrt(backgroundOf('C')), 12);
  expect(shares[AMINO_ACIDS.indexOf('A')]).toBeCloseTo(1 / 3 / Math.sqrt(backgroundOf('A')), 12);
  expect(shares.filter((share) => share > 0)).toHaveLength(2);
});

test.each([{ sequence: '' }, { sequence: 'XXXX' }])('$sequence has no shares', ({ sequence }) => {
  expect(compositionOf(sequence).shares).toEqual(new Array(AMINO_ACIDS.length).fill(0));
});

test('proteins of average composition have as many equal residues as expected', () => {
  const average = [...AMINO_ACIDS]
    .map((letter, at) => letter.repeat(Math.round(1e4 * BACKGROUND[at])))
    .join('');
  expect(ratioOf(average, average)).toBeCloseTo(0, 3);
});

test('like compositions have the log odds of equal residues, in either order', () => {
  expect(ratioOf('AAAA', 'AA')).toBeCloseTo(-Math.log(backgroundOf('A')), 12);
  expect(ratioOf('AKAK', 'AA')).toBeCloseTo(Math.log(0.5 / backgroundOf('A')), 12);
  expect(ratioOf('AA', 'AKAK')).toBe(ratioOf('AKAK', 'AA'));
});

test('proteins without a common amino acid have a finite ratio', () => {
  expect(ratioOf('AAAA', 'KKKK')).toBeLessThan(0);
  expect(ratioOf('AAAA', 'KKKK')).toBe(ratioOf('XXXX', 'KKKK'));
});

test('the excess is the gain over the shorter protein beyond the usual one', () => {
  const model = { weight: 0.7, usualGain: 1 };
  const pair = { composition: 0.2, queryLength: 400, targetLength: 100 };
  const gain = (0.2 * 100) / 40_000 ** 0.25;
  expect(gain).toBeGreaterThan(1);
  expect(compositionExcess(model, pair)).toBeCloseTo(0.7 * (gain - 1), 12);
  expect(compositionExcess(model, { ...pair, queryLength: 100, targetLength: 400 })).toBe(
    compositionExcess(model, pair),
  );
  expect(compositionExcess(model, { ...pair, composition: 0.1 })).toBe(0);
  expect(compositionExcess(model, { ...pair, composition: -2 })).toBe(0);
  expect(compositionExcess(undefined, pair)).toBe(0);
});
