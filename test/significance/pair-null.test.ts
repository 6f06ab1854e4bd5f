// @module-tag fast

import { expect, test } from 'vitest';
import {
  controlCoordinate,
  excessCoordinate,
  tailCoordinate,
  type NullPair,
  type PairNull,
  type PairScore,
} from '#src/significance/pair-null.js';

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
    rate: { slopes: [SLOPES.length, SLOPES.mean, SLOPES.spread], slowerShare, shortFactor: 3 },
    scores: { scorePerCosine: 1, profileScore: 0 },
    cysteines: { weight: 0.5, usualShare: 0.05 },
  };
}

function pairWith(meanCosine: number, cosineSpread: number): NullPair {
  const ofProfiles = { logProfileMean: 0, logProfileSpread: 0, logEffective: 0 };
  const hubnesses = {
    queryHubness: 0,
    targetHubness: 0,
    hubnessComponents: [],
    promiscuity: 0,
    classBias: 0,
    repeats: 0,
  };
  const lengths = { queryLength: Math.E, targetLength: 100 };
  return {
    ...lengths,
    meanCosine,
    cosineSpread,
    ...ofProfiles,
    ...hubnesses,
    composition: 0,
    queryMembraneShare: 0,
    targetMembraneShare: 0,
    cysteines: undefined,
  };
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

test('a class bias comes off the coordinate as it is', () => {
  const pair = { ...pairWith(0, 0), classBias: 0.7 };
  expect(excessCoordinate(nullWith(1), pair, EVIDENCE)).toBeCloseTo(coordinateBy(0) - 0.7, 12);
});

test('repeats lower the coordinate of a pair, and not that of its control', () => {
  const [model, plain] = [nullWith(1), pairWith(0, 0)];
  const score: PairScore = { affineScore: 8, meanClosestCosine: 0.5, profileScore: 0 };
  const coordinate = tailCoordinate(model, plain, score);
  expect(tailCoordinate(model, { ...plain, repeats: 1.3 }, score)).toBeCloseTo(coordinate - 1.3, 12);
  expect(controlCoordinate(model, { ...plain, repeats: 1.3 }, score)).toBe(coordinate);
});

test('like compositions lower the coordinate of a pair, and not that of its control', () => {
  const plain = nullWith(1);
  const model = { ...plain, composition: { weight: 0.7, usualGain: 0.5 } };
  const score: PairScore = { affineScore: 8, meanClosestCosine: 0.5, profileScore: 0 };
  const pairOf = (composition: number): NullPair => ({ ...pairWith(0, 0), composition });
  const coordinate = tailCoordinate(plain, pairOf(2), score);
  // The shorter protein has e residues, the longer one 100.
  const gain = (2 * Math.E) / (100 * Math.E) ** 0.25;
  expect(tailCoordinate(model, pairOf(2), score)).toBeCloseTo(coordinate - 0.7 * (gain - 0.5), 12);
  expect(tailCoordinate(model, pairOf(-3), score)).toBe(coordinate);
  expect(controlCoordinate(model, pairOf(2), score)).toBe(coordinate);
});

test('membrane helices move the coordinate of a pair, and not that of its control', () => {
  const plain = nullWith(1);
  const membrane = { commonWeight: 4, ownWeight: 1, fullShare: 0.4 };
  const model = { ...plain, membrane };
  const score: PairScore = { affineScore: 8, meanClosestCosine: 0.5, profileScore: 0 };
  const pairOf = (queryMembraneShare: number, targetMembraneShare: number): NullPair => {
    return { ...pairWith(0, 0), queryMembraneShare, targetMembraneShare };
  };
  const coordinate = tailCoordinate(plain, pairOf(0.5, 0.5), score);
  expect(tailCoordinate(model, pairOf(0.5, 0.5), score)).toBeCloseTo(coordinate - 3, 12);
  expect(tailCoordinate(model, pairOf(0.5, 0), score)).toBeCloseTo(coordinate + 0.5, 12);
  expect(tailCoordinate(model, pairOf(0, 0.5), score)).toBeCloseTo(coordinate + 0.5, 12);
  expect(controlCoordinate(model, pairOf(0.5, 0.5), score)).toBe(coordinate);
});

test('promiscuity moves the threshold, and slows the tail only above its mean', () => {
  const plain = nullWith(1);
  const promiscuous: PairNull = {
    ...plain,
    promiscuity: { ...unit, spread: 2 },
    weights: [...plain.weights, 1.5, 0.25],
    rate: { ...plain.rate, slopes: [...plain.rate.slopes, 0.2] },
  };
  const pairOf = (promiscuity: number): NullPair => ({ ...pairWith(0, 0), promiscuity });
  // The standardised promiscuity is 2 and −2.
  const above = (EVIDENCE - 1.5 * 2 - 0.25 * 2) / (2 * Math.exp(SLOPES.length + 0.2 * 2));
  const below = (EVIDENCE + 1.5 * 2) / (2 * Math.exp(SLOPES.length));
  expect(excessCoordinate(promiscuous, pairOf(4), EVIDENCE)).toBeCloseTo(above, 12);
  expect(excessCoordinate(promiscuous, pairOf(-4), EVIDENCE)).toBeCloseTo(below, 12);
  expect(excessCoordinate(plain, pairOf(4), EVIDENCE)).toBeCloseTo(coordinateBy(0), 12);
});

test('the cysteine excess lowers the coordinate of a pair, and not that of its control', () => {
  const model = nullWith(1);
  const plain = pairWith(0, 0);
  // e times the usual share, so that the excess is 2 · 1.5.
  const squaredShare = (Math.E * model.cysteines.usualShare) ** 2;
  const rich = { ...plain, cysteines: { fewer: 1.5, squaredShare, lengths: 1 } };
  const score: PairScore = { affineScore: 8, meanClosestCosine: 0.5, profileScore: 0 };
  const coordinate = tailCoordinate(model, plain, score);
  expect(tailCoordinate(model, rich, score)).toBeCloseTo(coordinate - 0.5 * 3, 12);
  expect(controlCoordinate(model, rich, score)).toBeCloseTo(coordinate, 12);
  expect(tailCoordinate({ ...model, cysteines: { weight: 0, usualShare: 0.05 } }, rich, score)).toBeCloseTo(
    coordinate,
    12,
  );
});

test('the tail of a pair that is shorter than the mean falls more slowly by the factor', () => {
  const pairOf = (queryLength: number): NullPair => ({ ...pairWith(0, 0), queryLength });
  const slopeAt = (slope: number): number => EVIDENCE / (2 * Math.exp(slope));
  expect(excessCoordinate(nullWith(1), pairOf(Math.E ** 2), EVIDENCE)).toBeCloseTo(
    slopeAt(2 * SLOPES.length),
  );
  expect(excessCoordinate(nullWith(1), pairOf(1 / Math.E), EVIDENCE)).toBeCloseTo(
    slopeAt(-3 * SLOPES.length),
  );
});

test('the evidence of a pair has the bits of its profile score beyond chance', () => {
  const plain = nullWith(1);
  const weighted = { ...plain, scores: { ...plain.scores, profileScore: 0.6 } };
  const pairOf = (effective: number): NullPair => {
    return { ...pairWith(0, 0), queryLength: 16, targetLength: 16, logEffective: Math.log(effective) };
  };
  // 18 bits and ln(16 · 16) are what pairs of these lengths have by chance; a bit has 16 units.
  const scoreOf = (bits: number): PairScore => {
    return { affineScore: 8, meanClosestCosine: 0.5, profileScore: 16 * (18 + Math.log(256) + bits) };
  };
  // 8 ÷ (16 · 16)^¼ + 3 · 1 · .5 without the profile score; divided by the mean excess of these lengths.
  const excess = (evidence: number): number => excessCoordinate(plain, pairOf(4), evidence);
  expect(tailCoordinate(plain, pairOf(4), scoreOf(10))).toBeCloseTo(excess(3.5), 10);
  expect(tailCoordinate(weighted, pairOf(4), scoreOf(10))).toBeCloseTo(excess(3.5 + 6), 10);
  expect(tailCoordinate(weighted, pairOf(50), scoreOf(10))).toBeCloseTo(excess(3.5 + 6), 10);
  expect(tailCoordinate(weighted, pairOf(2), scoreOf(10))).toBeCloseTo(excess(3.5 + 3), 10);
  expect(tailCoordinate(weighted, pairOf(1), scoreOf(10))).toBeCloseTo(excess(3.5), 10);
  expect(tailCoordinate(weighted, pairOf(50), scoreOf(-5))).toBeCloseTo(excess(3.5), 10);
  // Composition adds half a bit to half of the 16 columns, so that 6 of the 10 bits are beyond chance.
  const composed = { ...pairOf(4), logProfileMean: 0.5 * Math.LN2 };
  expect(tailCoordinate(weighted, composed, scoreOf(10))).toBeCloseTo(excess(3.5 + 0.6 * 6), 10);
});
