import { PROFILE_WIDTH, type QueryTokens } from '#src/kernels/kernels.js';
import type { Random } from '#src/random.js';

/** Rows of random direction whose squared norm is at most 32,767 and mostly close to it. */
export function randomTokens(random: Random, length: number, dimension: number): QueryTokens {
  const values = new Int8Array(length * dimension);
  for (let row = 0; row < length; row += 1) {
    const direction = Array.from({ length: dimension }, () => random.share() - 0.5);
    const norm = Math.hypot(...direction);
    for (let k = 0; k < dimension; k += 1) {
      const scaled = Math.trunc((direction[k]! / norm) * 181);
      values[row * dimension + k] = Math.max(-128, Math.min(127, scaled));
    }
  }
  return { values, length };
}

/** Profiles of few amino acids or many, squared norm at most 2 × 127² + 18 × 5². */
export function randomProfile(random: Random, length: number): Int8Array {
  const values = new Int8Array(length * PROFILE_WIDTH);
  for (let row = 0; row < length; row += 1) {
    for (let kind = 0; kind < 20; kind += 1) values[row * PROFILE_WIDTH + kind] = random.below(6);
    for (let twice = 0; twice < 2; twice += 1) {
      values[row * PROFILE_WIDTH + random.below(20)] = random.below(128);
    }
  }
  return values;
}

/** Token source in memory with targets of the given lengths. */
export function randomSource(random: Random, lengths: readonly number[], dimension: number) {
  const residueStarts = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, target) => (residueStarts[target + 1] = residueStarts[target]! + length));
  const { values } = randomTokens(random, residueStarts[lengths.length]!, dimension);
  return { dimension, residueStarts, tokens: { values } };
}
