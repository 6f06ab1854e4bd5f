import { expect, test } from 'vitest';
import { nativeBackend } from '#src/kernels/native.js';
import type { QueryTokens } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { repeatShareOf } from '#src/search/pairs/repeats.js';

const DIMENSION = 64;
const ENCODER = { dimension: DIMENSION, inverse_step: 173 };
/** Share of a protein that is one stretch twice: each of half of its residues scores 80 − 34 of 80. */
const TWICE = (80 - 34) / (2 * 80);
const shareOf = (tokens: QueryTokens): Promise<number> => repeatShareOf(tokens, ENCODER, nativeBackend());

/** Random tokens of nearly unit length: two of them have a cosine near 0. */
function randomRows(length: number, seed: number): Int8Array {
  const random = seededRandom(seed);
  const rows = new Int8Array(length * DIMENSION);
  for (let row = 0; row < length; row += 1) {
    const values = Array.from({ length: DIMENSION }, () => random.below(2_001) - 1_000);
    const norm = Math.hypot(...values);
    values.forEach((value, at) => {
      rows[row * DIMENSION + at] = Math.round((173 * value) / norm);
    });
  }
  return rows;
}

function proteinOf(...parts: readonly Int8Array[]): QueryTokens {
  const values = Int8Array.from(parts.flatMap((part) => [...part]));
  return { values, length: values.length / DIMENSION };
}

test('a stretch that a protein has twice gives nearly the largest share', async () => {
  const stretch = randomRows(60, 1);
  const share = await shareOf(proteinOf(stretch, stretch));
  expect(share).toBeGreaterThan(0.97 * TWICE);
  expect(share).toBeLessThan(1.03 * TWICE);
});

test('a stretch before and after other residues counts by its part of the protein', async () => {
  const stretch = randomRows(40, 2);
  const share = await shareOf(proteinOf(stretch, randomRows(80, 3), stretch));
  expect(share).toBeGreaterThan(0.2 * TWICE);
  expect(share).toBeLessThan(0.6 * TWICE);
});

test('proteins of unlike residues, and of a stretch and its reverse, have next to no share', async () => {
  const stretch = randomRows(60, 4);
  const reverse = Int8Array.from(
    Array.from({ length: 60 }, (_, row) => [
      ...stretch.subarray((59 - row) * DIMENSION, (60 - row) * DIMENSION),
    ]).flat(),
  );
  expect(await shareOf(proteinOf(randomRows(121, 5)))).toBeLessThan(0.01);
  expect(await shareOf(proteinOf(stretch, reverse))).toBeLessThan(0.02);
});

test('one residue has no halves, and two equal ones have the largest share', async () => {
  const residue = randomRows(1, 6);
  expect(await shareOf(proteinOf(residue))).toBe(0);
  expect(await shareOf(proteinOf(residue, residue))).toBeGreaterThan(0.9 * TWICE);
});

test('a GPU leaves the halves to the CPU', async () => {
  const stretch = randomRows(60, 7);
  const native = nativeBackend();
  const unused = (): never => {
    throw new Error('the GPU was called');
  };
  const onGpu = { ...native, name: 'cuda', affineBackend: native, open: unused, affineScores: unused };
  const tokens = proteinOf(stretch, stretch);
  expect(await repeatShareOf(tokens, ENCODER, onGpu)).toBe(await shareOf(tokens));
});
