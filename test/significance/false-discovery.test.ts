// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { familyWiseProbability, qValues } from '#src/significance/false-discovery.js';
import { kolmogorovDistance, kolmogorovProbability } from '#src/significance/kolmogorov.js';
import { sampleDistinct, seededRandom } from '#src/random.js';

const logs = fc.array(
  fc.oneof(fc.double({ min: -800, max: 12, noNaN: true }), fc.integer({ min: -3, max: 3 })),
  {
    maxLength: 60,
  },
);

describe('q-values', () => {
  it('are the E-value over the number of better or equal entries above, and at least the q-values of those', () => {
    const values = qValues([1e-3, 0.4, 30, 0.5, 1e-4].map(Math.log));
    const expected = [1e-3, 0.4 / 2, 1, 0.4 / 2, 1e-4];
    expect([...values]).toEqual(expected.map((value) => expect.closeTo(value, 12)));
  });

  it('do not fall as E-values rise, lie in 0..1 and keep the input order', () => {
    fc.assert(
      fc.property(logs, (logEValues) => {
        const values = qValues(logEValues);
        logEValues.forEach((a, i) => {
          expect(values[i]).toBeGreaterThanOrEqual(0);
          expect(values[i]).toBeLessThanOrEqual(1);
          logEValues.forEach((b, j) => a <= b && expect(values[i]).toBeLessThanOrEqual(values[j]));
        });
      }),
      { numRuns: 300 },
    );
  });

  it('do not change with the length of the list', () => {
    fc.assert(
      fc.property(logs, fc.nat(60), (logEValues, limit) => {
        expect([...qValues(logEValues.slice(0, limit))]).toEqual([...qValues(logEValues).slice(0, limit)]);
      }),
    );
  });

  it('are at least the ratio of Benjamini and Hochberg', () => {
    fc.assert(
      fc.property(logs, (logEValues) => {
        const values = qValues(logEValues);
        logEValues.forEach((log, i) => {
          const steps = logEValues.filter((other) => other >= log);
          const ratios = steps.map(
            (other) => Math.exp(other) / logEValues.filter((each) => each <= other).length,
          );
          expect(values[i]).toBeGreaterThanOrEqual(Math.min(1, ...ratios) * (1 - 1e-12));
        });
      }),
    );
  });
});

describe('the family-wise probability', () => {
  it('keeps its digits where 1 − e^−E would round to 0, and is at most 1', () => {
    expect(familyWiseProbability(-50)).toBeCloseTo(Math.exp(-50), 30);
    expect(familyWiseProbability(Math.log(2))).toBeCloseTo(1 - Math.exp(-2), 12);
    expect(familyWiseProbability(20)).toBe(1);
  });
});

describe('the Kolmogorov–Smirnov distance', () => {
  it('is half a step for the best possible sample, and 1 for an empty one', () => {
    const even = Float64Array.from({ length: 10 }, (_, index) => (index + 0.5) / 10);
    expect(kolmogorovDistance(even, (value) => value)).toBeCloseTo(0.05, 12);
    expect(kolmogorovDistance(new Float64Array(0), (value) => value)).toBe(1);
  });

  it('is exceeded with the published probability', () => {
    // 1.358 ÷ √n is exceeded in 5 % of large samples.
    expect(kolmogorovProbability(1.358 / Math.sqrt(10_000), 10_000)).toBeCloseTo(0.05, 2);
    expect(kolmogorovProbability(0, 100)).toBe(1);
    expect(kolmogorovProbability(0.9, 1_000)).toBeLessThan(1e-12);
  });
});

describe('a seeded random stream', () => {
  it('gives equal numbers for equal seeds, and others for another seed', () => {
    const draw = (seed: number): number[] => Array.from({ length: 5 }, seededRandom(seed).next);
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('samples distinct members in ascending order and with equal frequency', () => {
    const random = seededRandom(3);
    const seen = new Uint32Array(10);
    for (let round = 0; round < 4_000; round += 1) {
      const sample = sampleDistinct(10, 3, random);
      expect(new Set(sample).size).toBe(3);
      expect([...sample]).toEqual([...sample].sort((a, b) => a - b));
      for (const member of sample) seen[member] += 1;
    }
    for (const times of seen) expect(Math.abs(times - 1_200)).toBeLessThan(150);
    expect([...sampleDistinct(3, 9, random)]).toEqual([0, 1, 2]);
  });
});
