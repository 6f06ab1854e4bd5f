// @module-tag fast

import { describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import {
  continuedTail,
  fitTail,
  holdoutDistance,
  massBelow,
  tailLogProbability,
  tangentAt,
} from '#src/significance/tail-model.js';

const SEED = 20260808;

/** Exponential excesses below a ceiling. */
function exponentials(count: number, rate: number, ceiling: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const values: number[] = [];
  while (values.length < count) {
    const value = -Math.log((random.next() + 1) / 2 ** 32) / rate;
    if (value <= ceiling) values.push(value);
  }
  return Float64Array.from(values);
}

describe(`a tail fit (seed ${SEED})`, () => {
  it('recovers the rate of an exponential from excesses truncated at a ceiling', () => {
    const excesses = exponentials(20_000, 1.3, 4, SEED);
    const fit = fitTail({ excesses, ceiling: 4 })!;
    expect(fit.lambda).toBeGreaterThan(1.25);
    expect(fit.lambda).toBeLessThan(1.38);
    expect(fit.shape).toBe(0);
  });

  it('separates the null from unlabelled homologs', () => {
    const unrelated = exponentials(18_000, 1, 11, SEED + 1);
    const related = exponentials(2_000, 0.25, 11, SEED + 2);
    const excesses = Float64Array.from([...unrelated, ...related]);
    const fit = fitTail({ excesses, ceiling: 11 })!;
    expect(fit.lambda).toBeGreaterThan(0.96);
    expect(fit.lambda).toBeLessThan(1.04);
    expect(fit.homologShare).toBeGreaterThan(0.07);
    expect(fit.homologShare).toBeLessThan(0.13);
    // One rate for both would be off by a factor of ten at a millionth.
    const mean = excesses.reduce((sum, value) => sum + value, 0) / excesses.length;
    expect(1 / mean).toBeLessThan(0.85);
  });

  it('prefers a generalised Pareto if the tail is lighter than an exponential', () => {
    // Survival (1 − y/4)⁴: shape −1/4, rate 1.
    const random = seededRandom(SEED + 3);
    const draw = (): number => 4 * (1 - ((random.next() + 1) / 2 ** 32) ** 0.25);
    const excesses = Float64Array.from({ length: 20_000 }, draw);
    const fit = fitTail({ excesses, ceiling: 4 })!;
    expect(fit.shape).toBeLessThan(-0.15);
    expect(fit.shape).toBeGreaterThan(-0.35);
  });

  it('is undefined if the density of the excesses does not fall', () => {
    const excesses = Float64Array.from({ length: 1_000 }, (_, index) => (index / 1_000) * 5);
    expect(fitTail({ excesses, ceiling: 5 })).toBeUndefined();
    expect(fitTail({ excesses: new Float64Array(0), ceiling: 5 })).toBeUndefined();
  });

  it('has a small hold-out distance to its own distribution and a large one to another', () => {
    const fit = fitTail({ excesses: exponentials(5_000, 1, 6, SEED + 4), ceiling: 6 })!;
    const same = { excesses: exponentials(5_000, 1, 6, SEED + 5), ceiling: 6 };
    const other = { excesses: exponentials(5_000, 2, 6, SEED + 6), ceiling: 6 };
    expect(holdoutDistance(fit, same)).toBeLessThan(0.04);
    expect(holdoutDistance(fit, other)).toBeGreaterThan(0.2);
  });

  it('is reproducible to the bit', () => {
    const sample = { excesses: exponentials(500, 0.8, 5, SEED), ceiling: 5 };
    expect(fitTail(sample)).toEqual(fitTail(sample));
  });
});

describe('a tail model', () => {
  const exponential = { threshold: 2, logExceedanceProbability: Math.log(0.02), lambda: 0.9, shape: 0 };

  it('gives logarithms of probabilities that underflow', () => {
    expect(tailLogProbability(exponential, 2)).toBeCloseTo(Math.log(0.02), 12);
    expect(tailLogProbability(exponential, 2_000)).toBeCloseTo(Math.log(0.02) - 0.9 * 1_998, 9);
  });

  it('has a tangent whose k · e^(−λ · score) is the probability', () => {
    for (const shape of [0, 0.1, -0.05]) {
      const model = { ...exponential, shape };
      for (const score of [2, 5, 9]) {
        const { lambda, logK } = tangentAt(model, score);
        expect(logK - lambda * score).toBeCloseTo(tailLogProbability(model, score), 10);
      }
    }
  });

  it('continues as its tangent exponential beyond the fitted range, and does not end', () => {
    for (const shape of [0, 0.1, -0.2]) {
      const model = { ...exponential, shape };
      const lowest = -12;
      const at = (score: number) => continuedTail(model, score, lowest);
      let last = at(2).logProbability;
      for (let score = 2.5; score <= 1_000; score += 0.5) {
        const { logProbability, tangent, isBeyond } = at(score);
        expect(logProbability).toBeLessThan(last);
        expect(tangent.logK - tangent.lambda * score).toBeCloseTo(logProbability, 8);
        expect(isBeyond).toBe(!(tailLogProbability(model, score) > lowest));
        // Continuous where the tangent replaces the tail.
        expect(last - logProbability).toBeLessThan(3);
        last = logProbability;
      }
    }
  });

  it('ends at a finite score if the shape is negative', () => {
    const ending = { ...exponential, shape: -0.5 };
    expect(tailLogProbability(ending, 2 + 2 / 0.9 + 0.01)).toBe(-Infinity);
    expect(massBelow(ending, 2 / 0.9)).toBe(1);
  });
});
