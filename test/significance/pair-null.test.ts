// @module-tag fast

import { expect, test } from 'vitest';
import { excessCoordinate, type NullPair, type PairNull } from '#src/significance/pair-null.js';

const unit = { centre: 0, spread: 1, minimum: -10, maximum: 10 };
const SLOPES = { length: -0.05, mean: 0.1, spread: 0.3 };

/** A null whose quantile is 0 for every pair, so that the coordinate is the evidence divided by the mean excess. */
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
  // Both moments below their means: the tail falls faster, by the full slopes.
  { meanCosine: -1, cosineSpread: -2, expected: coordinateBy(-0.1 - 0.6) },
  // Both above their means: the tail falls more slowly, by the share of the slopes.
  { meanCosine: 1, cosineSpread: 2, expected: coordinateBy(0.4 * (0.1 + 0.6)) },
  // The sign of the sum of both effects decides.
  { meanCosine: 2, cosineSpread: -1, expected: coordinateBy(0.2 - 0.3) },
  { meanCosine: -2, cosineSpread: 1, expected: coordinateBy(0.4 * (-0.2 + 0.3)) },
])(
  'the rate for a standardised mean cosine of $meanCosine and cosine spread of $cosineSpread',
  ({ meanCosine, cosineSpread, expected }) => {
    const pair = pairWith(meanCosine, cosineSpread);
    expect(excessCoordinate(nullWith(0.4), pair, EVIDENCE)).toBeCloseTo(expected, 12);
  },
);

test('with a share of one the rate is linear in its terms', () => {
  const pair = pairWith(1, 2);
  expect(excessCoordinate(nullWith(1), pair, EVIDENCE)).toBeCloseTo(coordinateBy(0.7), 12);
});
