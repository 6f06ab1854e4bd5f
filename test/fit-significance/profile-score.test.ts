import { expect, test } from 'vitest';
import { addProfileScore, EXCEEDANCE_SHARE, withProfileScores } from '#src/fit-significance/fit.js';
import type { HubnessSample } from '#src/fit-significance/hubness.js';
import { seededRandom } from '#src/random.js';
import { excessCoordinate, type NullPair, type PairNull } from '#src/significance/pair-null.js';

const SEED = 20261126;
const PAIRS = 40_000;
const WEIGHT = 0.5;
/** Mean of the bits beyond chance. */
const MEAN_BITS = 8;
const random = seededRandom(SEED);
const exponential = (mean: number): number => -mean * Math.log((random.below(1_000_000) + 0.5) / 1_000_000);

const lengths = Array.from({ length: PAIRS }, () => [60 + random.below(400), 60 + random.below(400)]);
const scale = { centre: Math.log(200), spread: 0.5, minimum: 0, maximum: 10 };
const unit = { centre: 0, spread: 1, minimum: -10, maximum: 10 };
const profiles = { logMean: unit, logSpread: unit, logEffective: unit };
const plain: PairNull = {
  shape: { logShorter: scale, logLonger: scale, meanCosine: unit, cosineSpread: unit, profiles },
  hubness: unit,
  hubnessComponents: [unit, unit],
  weights: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
  scale: 2,
  rate: { slopes: new Array<number>(8).fill(0), slowerShare: 1, shortFactor: 1 },
  scores: { scorePerCosine: 80, profileScore: 0 },
  cysteines: { weight: 3, usualShare: 0.02 },
};

function pairAt(pair: number): NullPair {
  const [queryLength, targetLength] = lengths[pair];
  const moments = { meanCosine: 0, cosineSpread: 0, logProfileMean: 0, logProfileSpread: 0 };
  const hubnesses = {
    queryHubness: 0,
    targetHubness: 0,
    hubnessComponents: [0, 0],
    promiscuity: 0,
    classBias: 0,
    repeats: 0,
  };
  const helices = { queryMembraneShare: 0, targetMembraneShare: 0 };
  const others = { logEffective: Math.log(10), composition: 0, cysteines: undefined, ...helices };
  return { queryLength, targetLength, ...others, ...moments, ...hubnesses };
}

/** Pairs with the evidence of the threshold of the plain null, and with profile scores beyond chance. */
function sampleOfPairs(): HubnessSample {
  const evidence = Float64Array.from(
    lengths,
    (_, pair) => -plain.scale * excessCoordinate(plain, pairAt(pair), 0),
  );
  const profileScores = Int32Array.from(lengths, ([m, n]) =>
    Math.round(16 * (18 + Math.log(m * n) + exponential(MEAN_BITS))),
  );
  const fitPairs = Uint32Array.from({ length: PAIRS }, (_, pair) => pair);
  const scores = { scorePerCosine: 80, profileScore: WEIGHT };
  return { evidence, profileScores, fitPairs, scores, pairAt, shapeAt: pairAt } as unknown as HubnessSample;
}

test(`a profile score moves the constant of the threshold, and the scale (seed ${SEED})`, () => {
  const sample = withProfileScores(sampleOfPairs());
  const fitted = addProfileScore(sample, plain, () => false, random);
  expect(fitted.scores).toEqual({ scorePerCosine: 80, profileScore: WEIGHT });
  expect(fitted.weights.slice(1)).toEqual(plain.weights.slice(1));
  expect(fitted.rate).toEqual(plain.rate);
  expect(fitted.scale / (WEIGHT * MEAN_BITS)).toBeGreaterThan(0.9);
  expect(fitted.scale / (WEIGHT * MEAN_BITS)).toBeLessThan(1.1);
  const exceeds = (pair: number): boolean =>
    excessCoordinate(fitted, pairAt(pair), sample.evidence[pair]) > 0;
  const isShort = (pair: number): boolean => lengths[pair][0] * lengths[pair][1] < 200 ** 2;
  for (const isOfGroup of [isShort, (pair: number) => !isShort(pair)]) {
    const group = Array.from(lengths.keys()).filter(isOfGroup);
    const share = group.filter(exceeds).length / group.length;
    expect(share / EXCEEDANCE_SHARE).toBeGreaterThan(0.85);
    expect(share / EXCEEDANCE_SHARE).toBeLessThan(1.15);
  }
});

test('pairs that are left out as homologs do not move the threshold', () => {
  const sample = withProfileScores(sampleOfPairs());
  const isHomologous = (pair: number): boolean => pair % 10 === 0;
  const evidence = sample.evidence.map((value, pair) => (isHomologous(pair) ? value + 1_000 : value));
  const fitted = addProfileScore({ ...sample, evidence }, plain, isHomologous, random);
  const expected = addProfileScore(sample, plain, isHomologous, random);
  expect(Math.abs(fitted.weights[0] - expected.weights[0])).toBeLessThan(0.5);
  expect(fitted.scale / expected.scale).toBeCloseTo(1, 1);
});
