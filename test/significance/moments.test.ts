// @module-tag fast

import { describe, expect, it } from 'vitest';
import {
  concentration,
  pairMoments,
  projectMoments,
  proteinMoments,
  secondMomentSize,
  tokenMoments,
} from '#src/significance/moments.js';
import { PROFILE_WIDTH } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';

const DIMENSION = 6;
const STEP = 173;

function randomTokens(length: number, seed: number): Int8Array {
  const random = seededRandom(seed);
  return Int8Array.from({ length: length * DIMENSION }, () => random.below(121) - 60);
}

/** Mean and standard deviation of the cosines of all residue pairs, by a loop over all pairs. */
function byLoops(a: Int8Array, b: Int8Array): { meanCosine: number; cosineSpread: number } {
  const cosines: number[] = [];
  for (let i = 0; i < a.length; i += DIMENSION) {
    for (let j = 0; j < b.length; j += DIMENSION) {
      let dot = 0;
      for (let d = 0; d < DIMENSION; d += 1) dot += a[i + d] * b[j + d];
      cosines.push(dot / STEP ** 2);
    }
  }
  const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length;
  const square = cosines.reduce((sum, value) => sum + value * value, 0) / cosines.length;
  return { meanCosine: mean, cosineSpread: Math.sqrt(square - mean * mean) };
}

describe('token moments', () => {
  it('give mean and spread of the cosines of all residue pairs without enumerating the pairs', () => {
    const [a, b] = [randomTokens(17, 1), randomTokens(29, 2)];
    const size = secondMomentSize(DIMENSION);
    const basis = new Float32Array(size * size);
    for (let at = 0; at < size; at += 1) basis[at * size + at] = 1;
    const query = projectMoments(tokenMoments(a, 17, DIMENSION, STEP), basis, size);
    const target = projectMoments(tokenMoments(b, 29, DIMENSION, STEP), basis, size);
    const table = {
      dimension: DIMENSION,
      rank: size,
      means: Float32Array.from(target.mean),
      sketches: Float32Array.from(target.sketch),
      basis,
    };
    const moments = pairMoments(query, table, 0);
    const expected = byLoops(a, b);
    expect(moments.meanCosine).toBeCloseTo(expected.meanCosine, 6);
    expect(moments.cosineSpread).toBeCloseTo(expected.cosineSpread, 6);
  });

  it('of a long protein are those of 256 evenly spaced residues, so that their cost is bounded', () => {
    const unit = randomTokens(1, 5);
    const repeated = Int8Array.from({ length: 30_000 * DIMENSION }, (_, at) => unit[at % DIMENSION]);
    expect(tokenMoments(repeated, 30_000, DIMENSION, STEP).mean[0]).toBeCloseTo(unit[0] / STEP, 12);
  });

  it('give a concentration that rises with the similarity of the residues of a protein', () => {
    const one = Int8Array.from({ length: 40 * DIMENSION }, (_, at) => (at % DIMENSION === 2 ? STEP - 46 : 0));
    const alike = concentration(tokenMoments(one, 40, DIMENSION, STEP - 46));
    expect(alike).toBeCloseTo(1, 12);
    expect(concentration(tokenMoments(randomTokens(400, 9), 400, DIMENSION, STEP))).toBeLessThan(0.35);
  });
});

describe('moments of profiles', () => {
  const SCALE = 16;
  const KINDS = 20;

  /** Profile rows with zero padding, as a release stores them. */
  function randomProfile(length: number, seed: number): Int8Array {
    const random = seededRandom(seed);
    return Int8Array.from({ length: length * PROFILE_WIDTH }, (_, at) =>
      at % PROFILE_WIDTH < KINDS ? random.below(60) : 0,
    );
  }

  it('give the logarithms of mean and spread over all column pairs, and of the smaller effective count', () => {
    const [a, b] = [randomProfile(11, 3), randomProfile(23, 4)];
    const form = { dimension: DIMENSION, inverseStep: STEP, profileScale: SCALE };
    const basis = new Float32Array(secondMomentSize(DIMENSION));
    const own = (profile: Int8Array, length: number, effectiveSequences: number) =>
      projectMoments(proteinMoments({ ...tokensOf(length), profile, effectiveSequences }, form), basis, 1);
    const tokensOf = (length: number) => ({ values: randomTokens(length, 6), length });
    const [query, target] = [own(a, 11, 12), own(b, 23, 3)];
    const table = {
      dimension: DIMENSION,
      rank: 1,
      means: Float32Array.from(target.mean),
      sketches: Float32Array.from(target.sketch),
      basis,
      profiles: {
        means: Float32Array.from(target.profile!.mean),
        seconds: Float32Array.from(target.profile!.second),
        logEffective: Float32Array.of(target.profile!.logEffective),
      },
    };
    const products: number[] = [];
    for (let i = 0; i < a.length; i += PROFILE_WIDTH) {
      for (let j = 0; j < b.length; j += PROFILE_WIDTH) {
        let product = 0;
        for (let kind = 0; kind < KINDS; kind += 1) product += a[i + kind] * b[j + kind];
        products.push(product / SCALE ** 2);
      }
    }
    const mean = products.reduce((sum, value) => sum + value, 0) / products.length;
    const variance = products.reduce((sum, value) => sum + (value - mean) ** 2, 0) / products.length;
    const moments = pairMoments(query, table, 0);
    expect(moments.logProfileMean).toBeCloseTo(Math.log(mean), 5);
    expect(moments.logProfileSpread).toBeCloseTo(Math.log(variance) / 2, 5);
    expect(moments.logEffective).toBeCloseTo(Math.log(3), 5);
  });

  it('are finite for profiles without variance, and 0 without profiles', () => {
    const flat = new Int8Array(40 * PROFILE_WIDTH);
    const values = randomTokens(40, 7);
    const form = { dimension: DIMENSION, inverseStep: STEP, profileScale: SCALE };
    const basis = new Float32Array(secondMomentSize(DIMENSION));
    const query = projectMoments(proteinMoments({ values, length: 40, profile: flat }, form), basis, 1);
    const plain = {
      dimension: DIMENSION,
      rank: 1,
      means: new Float32Array(DIMENSION),
      sketches: new Float32Array(1),
      basis,
    };
    const profiles = {
      means: new Float32Array(KINDS),
      seconds: new Float32Array(secondMomentSize(KINDS)),
      logEffective: new Float32Array(1),
    };
    const { logProfileMean, logProfileSpread } = pairMoments(query, { ...plain, profiles }, 0);
    expect([logProfileMean, logProfileSpread].every(Number.isFinite)).toBe(true);
    const without = pairMoments(query, plain, 0);
    expect([without.logProfileMean, without.logProfileSpread, without.logEffective]).toEqual([0, 0, 0]);
  });
});
