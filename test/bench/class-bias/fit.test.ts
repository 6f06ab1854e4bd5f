// @module-tag fast

import { expect, it } from 'vitest';
import { fitClassBias } from '#bench/class-bias/fit.js';
import { classBiasOf, momentSum } from '#src/significance/moment-weights.js';
import { seededRandom } from '#src/random.js';

const QUERIES = 4_000;
const CLAIMED = 3;
/** ln of found ÷ claimed unrelated targets per unit of the first and the third moment. */
const [FIRST, THIRD] = [0.8, -0.5];

const random = seededRandom(3);
const normal = (): number =>
  Array.from({ length: 12 }, () => random.share()).reduce((sum, share) => sum + share, -6);
const moments = Array.from({ length: QUERIES }, () =>
  Float64Array.of(2 + 0.5 * normal(), normal(), 0.5 * normal(), normal()),
);
const ratioOf = ([first, , third]: Float64Array): number => Math.exp(FIRST * (first - 2) + THIRD * third);

/** Draws a Poisson number. Source: multiplication of uniform shares (Knuth) */
function poisson(mean: number): number {
  let [count, product] = [0, random.share()];
  for (; product > Math.exp(-mean); count += 1) product *= random.share();
  return count;
}

it('finds two fifths of the ratio of each query from its counts, by the moments that it depends on', () => {
  const counts = moments.map((of) => poisson(CLAIMED * ratioOf(of)));
  const bias = fitClassBias({ moments, counts, claimed: CLAIMED, dimension: 2 });
  const { meanWeights, sketchWeights } = bias;
  // The ridge penalty takes a tenth off.
  for (const share of [meanWeights[0] / FIRST, sketchWeights[0] / THIRD]) {
    expect(share).toBeGreaterThan(0.4 * 0.87);
    expect(share).toBeLessThan(0.4);
  }
  for (const weight of [meanWeights[1], sketchWeights[1]]) expect(weight).toBeCloseTo(0, 1);
  const proteins = moments.map((of) => ({ mean: of.subarray(0, 2), sketch: of.subarray(2) }));
  const sums = proteins.map((protein) => momentSum(bias, protein));
  expect(sums.reduce((sum, each) => sum + each + bias.offset, 0) / QUERIES).toBeCloseTo(0, 1);
  const biases = proteins.map((protein) => classBiasOf(bias, protein));
  expect(Math.min(...biases)).toBe(-0.32);
  // One query in a hundred is held back at the largest bias.
  const bounded = biases.filter((each) => each === bias.largest).length;
  expect(bounded / QUERIES).toBeCloseTo(0.01, 2);
});

it('is 0 where the counts depend on no moment', () => {
  const counts = moments.map(() => poisson(CLAIMED));
  const { meanWeights, sketchWeights } = fitClassBias({ moments, counts, claimed: CLAIMED, dimension: 2 });
  for (const weight of [...meanWeights, ...sketchWeights]) expect(Math.abs(weight)).toBeLessThan(0.03);
});
