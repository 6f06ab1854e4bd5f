// @module-tag fast

import { describe, expect, it } from 'vitest';
import { measureSampleHubness } from '#src/fit-significance/hubness.js';
import { measureShapes } from '#src/fit-significance/fit.js';
import { pairStart } from '#src/fit-significance/pairs.js';
import type { NullSample } from '#src/fit-significance/sample.js';
import { hubnessesOf, createHubnessTable } from '#src/significance/hubness.js';
import { seededRandom } from '#src/random.js';

/* Proteins of two kinds, more similar to their own kind at any shape. Their first hubness component is the kind. */

const SEED = 20261122;
const COUNT = 240;
const KIN = 0.02;

/** Equal shapes. The similarity is .3 plus noise, higher for two proteins of one kind, lower for two kinds. */
function sampleOf(kinds: Int8Array, hasProfiles: boolean): NullSample {
  const random = seededRandom(SEED);
  const pairCount = pairStart(COUNT, COUNT);
  const [firsts, seconds] = [new Uint16Array(pairCount), new Uint16Array(pairCount)];
  const meanClosestCosine = new Float64Array(pairCount);
  for (let first = 0, pair = 0; first < COUNT; first += 1) {
    for (let second = first + 1; second < COUNT; second += 1, pair += 1) {
      [firsts[pair], seconds[pair]] = [first, second];
      meanClosestCosine[pair] = 0.3 + KIN * kinds[first] * kinds[second] + 0.00002 * random.below(1_000);
    }
  }
  const shape = {
    queryLength: 100,
    targetLength: 100,
    meanCosine: 0.1,
    cosineSpread: 0.2,
    logProfileMean: 0,
    logProfileSpread: 0,
    logEffective: 0,
  };
  const rest = {
    roles: new Uint8Array(COUNT),
    evidence: meanClosestCosine,
    profileScores: new Int32Array(pairCount),
    scores: { scorePerCosine: 1, profileScore: 0 },
    fitPairs: new Uint32Array(),
    holdoutPairs: new Uint32Array(),
  };
  return {
    proteinCount: COUNT,
    pairCount,
    hasProfiles,
    lengths: new Uint32Array(COUNT).fill(100),
    cysteines: new Array(COUNT).fill({ length: 100, cysteines: 0 }),
    firsts,
    seconds,
    meanClosestCosine,
    shapeAt: () => shape,
    ...rest,
  };
}

function measured(hasProfiles: boolean) {
  const random = seededRandom(SEED);
  const kinds = Int8Array.from({ length: COUNT }, () => (random.below(2) === 0 ? 1 : -1));
  const sample = sampleOf(kinds, hasProfiles);
  return { kinds, sample: measureSampleHubness(sample, measureShapes(sample, random), random) };
}

describe('the first hubness component', () => {
  it('separates two kinds that are similar to different members of the reference set', () => {
    const { kinds, sample } = measured(true);
    let [agreeing, squares] = [0, 0];
    for (let pair = 0; pair < sample.pairCount; pair += 1) {
      const [first] = sample.pairAt(pair).hubnessComponents;
      if (Math.sign(first) === kinds[sample.firsts[pair]] * kinds[sample.seconds[pair]]) agreeing += 1;
      squares += first * first;
    }
    expect(agreeing / sample.pairCount).toBeGreaterThan(0.99);
    // The component has a standard deviation of 1.
    expect(Math.sqrt(squares / sample.pairCount)).toBeCloseTo(1, 1);
  });

  it('does not exist without profiles', () => {
    const { sample } = measured(false);
    expect(sample.hubness.leanings).toBeUndefined();
    expect(sample.pairAt(0).hubnessComponents).toEqual([]);
  });

  it('of a member of the reference set is measured on the other members, and of other proteins on all members', () => {
    const hubnessComponents = { centres: [0.1, -0.1, 0], directions: [[1, -1, 0.5]] };
    const model = { weights: [], minimum: -1, maximum: 1, leanings: hubnessComponents };
    const memberOf = (protein: number): number => protein - 1;
    const table = createHubnessTable(model, { referenceSetSize: 3, proteinCount: 2, memberOf });
    [0.3, 0.1, 0.2].forEach((contribution, place) => table.add(0, place, contribution));
    table.add(1, 1, 0.1);
    table.add(1, 2, 0.2);
    const outside = table.of(0);
    expect(outside.hubness).toBeCloseTo(0.2, 12);
    expect(outside.hubnessComponents[0]).toBeCloseTo(0.3 - 0.1 - (0.1 + 0.1) + 0.5 * 0.2 - 0.2 * 0.5, 12);
    const member = table.of(1);
    expect(member.hubness).toBeCloseTo(0.15, 12);
    expect(member.hubnessComponents[0]).toBeCloseTo(-(0.1 + 0.1) + 0.5 * 0.2 + 0.15 * 0.5, 12);
    expect(hubnessesOf(outside, member).hubnessComponents[0]).toBeCloseTo(
      outside.hubnessComponents[0] * member.hubnessComponents[0],
      12,
    );
  });
});
