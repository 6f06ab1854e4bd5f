import type { QueryTokens } from '#src/kernels/kernels.js';

/** A seeded generator of numbers in [0, 1): mulberry32. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Rows of random direction whose squared norm is at most 32,767 and mostly close to it. */
export function randomTokens(random: () => number, length: number, dimension: number): QueryTokens {
  const values = new Int8Array(length * dimension);
  for (let row = 0; row < length; row += 1) {
    const direction = Array.from({ length: dimension }, () => random() - 0.5);
    const norm = Math.hypot(...direction);
    for (let k = 0; k < dimension; k += 1) {
      const scaled = Math.trunc((direction[k]! / norm) * 181);
      values[row * dimension + k] = Math.max(-128, Math.min(127, scaled));
    }
  }
  return { values, length };
}

/** Targets of the given lengths, one after the other, as a token source in memory. */
export function randomSource(random: () => number, lengths: readonly number[], dimension: number) {
  const residueStarts = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, target) => (residueStarts[target + 1] = residueStarts[target]! + length));
  const { values } = randomTokens(random, residueStarts[lengths.length]!, dimension);
  return { dimension, residueStarts, tokens: { values } };
}
