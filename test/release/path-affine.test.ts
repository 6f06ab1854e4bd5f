// @module-tag fast

import { expect, it } from 'vitest';
import { pathAffine } from '#src/release/path-affine.js';
import { profileAffine } from '#src/release/profile-affine.js';

const SCORED = { multiplier: 175, offset: 34, gap_open: 52, gap_extend: 5, blosum62: 8 };
const encoder = { id: 'test', sha256: '', dimension: 64, inverse_step: 173 };

it('weighs letters half as much beside tokens, and makes gaps cost more', () => {
  const affine = pathAffine({ affine: SCORED, encoder });
  expect(affine).toEqual({ ...SCORED, offset: 32, gap_open: 73, blosum62: 4 });
});

it('weighs profiles less beside tokens, with the same points for a cosine', () => {
  const scored = profileAffine(SCORED, 173);
  const { profile } = pathAffine({ affine: { ...SCORED, profile: scored }, encoder });
  expect(profile!.weight / scored.weight).toBeCloseTo(12 / 30, 3);
  expect(profile!.multiplier).toBe(scored.multiplier);
  expect(profile!.gap_open).toBe(77);
  expect(profile!.offset).toBeLessThan(scored.offset);
});

it('leaves the parameters of an encoder without letters as they are', () => {
  const { blosum62: _, ...plain } = SCORED;
  expect(pathAffine({ affine: plain, encoder })).toEqual(plain);
});

it('stays within what the kernels take', () => {
  const affine = { ...SCORED, gap_open: 4_000, blosum62: 1 };
  expect(pathAffine({ affine, encoder })).toMatchObject({ gap_open: 4_095, blosum62: 1 });
});
