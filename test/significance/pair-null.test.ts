// @module-tag fast

import { expect, test } from 'vitest';
import { excessCoordinate, type NullPair, type PairNull } from '#src/significance/pair-null.js';

const unit = { centre: 0, spread: 1, minimum: -10, maximum: 10 };
const SLOPES = { length: -0.05, mean: 0.1, spread: 0.3 };

/** A null whose threshold is 0 for every pair: the coordinate is the evidence over the mean excess. */
function nullWith(slowerShare: number): PairNull {
  return {
    shape: { logShorter: unit, logLonger: unit, meanCosine: unit, cosineSpread: unit },
    hubness: unit,
    hubnessComponents: [],
    weights: new Array<number>(9).fill(0),
    scale: 2,
    rate: { slopes: [SLOPES.length, SLOPES.mean, SLOPES.spread], slowerShare },
    scorePerCosine: 1,
  };
}

function pairWith(meanCosine: number, cosineSpread: number): NullPair {
  const ofProfiles = { logProfileMean: 0, logProfileSpread: 0, logEffective: 0 };
  const hubnesses = { queryHubness: 0, targetHubness: 0, hubnessComponents: [] };
  return { queryLength: Math.E, targetLength: 100, meanCosine, cosineSpread, ...ofProfiles, ...hubnesses };
}

const EVIDENCE = 6;
const coordinateBy = (slope: number): number => EVIDENCE / (2 * Math.exp(SLOPES.length + slope));

test.each([
  // Both lower: the tail falls faster, by all that the slopes say.
  { meanCosine: -1, cosineSpread: -2, expected: coordinateBy(-0.1 - 0.6) },
  // Both higher: slower, by the share.
  { meanCosine: 1, cosineSpread: 2, expected: coordinateBy(0.4 * (0.1 + 0.6)) },
  // What counts is the two together.
  { meanCosine: 2, cosineSpread: -1, expected: coordinateBy(0.2 - 0.3) },
  { meanCosine: -2, cosineSpread: 1, expected: coordinateBy(0.4 * (-0.2 + 0.3)) },
])('moments of $meanCosine and $cosineSpread', ({ meanCosine, cosineSpread, expected }) => {
  const pair = pairWith(meanCosine, cosineSpread);
  expect(excessCoordinate(nullWith(0.4), pair, EVIDENCE)).toBeCloseTo(expected, 12);
});

test('with a share of one the rate follows its terms alone', () => {
  const pair = pairWith(1, 2);
  expect(excessCoordinate(nullWith(1), pair, EVIDENCE)).toBeCloseTo(coordinateBy(0.7), 12);
});
