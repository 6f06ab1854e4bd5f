import { assert } from './errors.js';

/** A stream of pseudo-random numbers that is the same on every machine for the same seed. */
export interface Random {
  /** A 32-bit unsigned integer. */
  readonly next: () => number;
  /** A uniform integer in [0, bound); bound 1..2³². */
  readonly below: (bound: number) => number;
  /** A uniform number in [0, 1), a multiple of 2⁻³². */
  readonly share: () => number;
}

/** A stream whose state can be read and restored. */
export interface SeededRandom extends Random {
  /** State of the stream. Shape: [4] */
  readonly place: () => Uint32Array;
  readonly goTo: (place: Uint32Array) => void;
}

/**
 * The generator for new code.
 * Source  xoshiro128** (Blackman & Vigna 2018), its state filled by splitmix32 from the seed
 */
export function seededRandom(seed: number): SeededRandom {
  let mixed = seed >>> 0;
  const fill = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let word = mixed;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };
  const state = Uint32Array.of(fill(), fill(), fill(), fill());
  const rotate = (word: number, by: number): number => ((word << by) | (word >>> (32 - by))) >>> 0;
  const random = randomOf(() => {
    const result = Math.imul(rotate(Math.imul(state[1], 5) >>> 0, 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate(state[3], 11);
    return result;
  });
  return { ...random, place: () => state.slice(), goTo: (place) => state.set(place) };
}

/**
 * The generator behind frozen data: rotations and affine parameters of registered encoders, and the demo database with
 * the digests of its responses. New code must use seededRandom.
 * Source  mulberry32 (T. Ettinger 2017)
 */
export function frozenRandom(seed: number): Random {
  let state = seed | 0;
  return randomOf(() => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  });
}

function randomOf(next: () => number): Random {
  const below = (bound: number): number => {
    assert(bound >= 1, 'a draw needs a bound of at least 1');
    // Values past the last whole multiple of the bound would favour small results.
    const end = 2 ** 32 - (2 ** 32 % bound);
    for (;;) {
      const word = next();
      if (word < end) return word % bound;
    }
  };
  return { next, below, share: () => next() / 2 ** 32 };
}

/**
 * `count` distinct integers of [0, population), ascending; all of them if count ≥ population.
 * Cost    memory for `count` entries, independent of the population
 * Source  Floyd's sampling (Bentley & Floyd 1987)
 */
export function sampleDistinct(population: number, count: number, random: Random): Uint32Array {
  if (count >= population) return Uint32Array.from({ length: population }, (_, index) => index);
  const chosen = new Set<number>();
  for (let last = population - count; last < population; last += 1) {
    const pick = random.below(last + 1);
    chosen.add(chosen.has(pick) ? last : pick);
  }
  return Uint32Array.from(chosen).sort();
}

/**
 * Returns the values in random order.
 * Source  Fisher & Yates 1938; Durstenfeld 1964
 */
export function shuffled<Value>(values: ArrayLike<Value>, random: Random): Value[] {
  const order = Array.from(values);
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}
