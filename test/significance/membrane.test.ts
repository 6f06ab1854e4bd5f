// @module-tag fast

import { expect, test } from 'vitest';
import { membraneExcess, membraneShareOf } from '#src/significance/membrane.js';

const HELIX = 'L'.repeat(19);
const SOLUBLE = 'D'.repeat(19);
const MODEL = { commonWeight: 4, ownWeight: 1, fullShare: 0.4 };

test('the membrane share counts the residues of stretches of 19 that are hydrophobic enough', () => {
  expect(membraneShareOf('')).toBe(0);
  expect(membraneShareOf(HELIX.slice(1))).toBe(0);
  expect(membraneShareOf(HELIX)).toBe(1);
  expect(membraneShareOf(SOLUBLE + SOLUBLE)).toBe(0);
  // Alanine has a hydropathy of 1.8 and threonine of −.7: up to one of 19 residues may be a threonine.
  expect(membraneShareOf('A'.repeat(18) + 'T')).toBe(1);
  expect(membraneShareOf('A'.repeat(17) + 'TT')).toBe(0);
});

test('residues of overlapping stretches count once', () => {
  expect(membraneShareOf('L'.repeat(57))).toBe(1);
  // A stretch may hold 5 aspartates (−3.5) beside 14 leucines (3.8), so that 5 count at each end of a helix.
  const covered = membraneShareOf(SOLUBLE + HELIX + SOLUBLE) * 57;
  expect(covered).toBeCloseTo(19 + 2 * 5, 9);
  expect(membraneShareOf(SOLUBLE + HELIX + SOLUBLE + SOLUBLE + HELIX + SOLUBLE) * 114).toBeCloseTo(
    2 * covered,
    9,
  );
});

test('letters that are no amino acids are neither hydrophobic nor hydrophilic', () => {
  expect(membraneShareOf(HELIX.slice(2) + 'XX')).toBe(1);
  expect(membraneShareOf('X'.repeat(40))).toBe(0);
});

test('the excess of two membrane proteins grows with both shares, up to the full one', () => {
  expect(membraneExcess(MODEL, 0.2, 0.2)).toBeCloseTo(4 * 0.5 - 0.5, 12);
  expect(membraneExcess(MODEL, 0.1, 0.4)).toBeCloseTo(4 * 0.5 - 0.625, 12);
  expect(membraneExcess(MODEL, 0.4, 0.4)).toBeCloseTo(3, 12);
  expect(membraneExcess(MODEL, 0.9, 1)).toBeCloseTo(3, 12);
});

test('a membrane protein with a soluble one has a negative excess, in either order', () => {
  expect(membraneExcess(MODEL, 0.5, 0)).toBeCloseTo(-0.5, 12);
  expect(membraneExcess(MODEL, 0, 0.2)).toBeCloseTo(-0.25, 12);
  expect(membraneExcess(MODEL, 0, 0.5)).toBe(membraneExcess(MODEL, 0.5, 0));
});

test('two soluble proteins, and pairs of a null without a model, have none', () => {
  expect(membraneExcess(MODEL, 0, 0)).toBeCloseTo(0, 12);
  expect(membraneExcess(undefined, 1, 1)).toBe(0);
});
