// @module-tag fast

import { describe, expect, it } from 'vitest';
import { EXCEEDANCE_SHARE } from '#src/fit-significance/fit.js';
import { withPromiscuities, type HubnessSample } from '#src/fit-significance/hubness.js';
import { pairStart } from '#src/fit-significance/pairs.js';
import { fitPromiscuity, withPromiscuity } from '#src/fit-significance/promiscuity.js';
import { ROLE_FIT, ROLE_HOLDOUT } from '#src/fit-significance/sample.js';
import type { MomentTable, ProjectedMoments } from '#src/significance/moments.js';
import { momentSum, targetMomentSum } from '#src/significance/moment-weights.js';
import { seededRandom } from '#src/random.js';

/* Proteins whose pairs exceed the threshold more or less often, as their token moments predict. */

const SEED = 20261125;
const MEAN_WEIGHTS = [3, -2, 1, 0];
const SKETCH_WEIGHTS = [0.5, -1];
/** A few more proteins than the largest small sample. */
const COUNT = 1_700;

interface Drawn {
  readonly sample: HubnessSample;
  readonly moments: readonly ProjectedMoments[];
  readonly coordinates: Float64Array;
  /** ln of the frequency of each protein. */
  readonly truth: Float64Array;
}

/** A sample without scores: moments, and coordinates that exceed 0 by chance. */
function drawn(count: number): Drawn {
  const random = seededRandom(SEED);
  const row = (length: number): Float64Array =>
    Float64Array.from({ length }, () => 0.4 * (random.share() - 0.5));
  const moments = Array.from({ length: count }, () => ({
    mean: row(MEAN_WEIGHTS.length),
    sketch: row(SKETCH_WEIGHTS.length),
  }));
  const product = (weights: readonly number[], values: Float64Array): number =>
    weights.reduce((sum, weight, at) => sum + weight * values[at], 0);
  const truth = Float64Array.from(
    moments,
    ({ mean, sketch }) => product(MEAN_WEIGHTS, mean) + product(SKETCH_WEIGHTS, sketch),
  );
  const pairCount = pairStart(count, count);
  const [firsts, seconds] = [new Uint16Array(pairCount), new Uint16Array(pairCount)];
  const coordinates = new Float64Array(pairCount);
  const roles = Uint8Array.from({ length: count }, (_, protein) =>
    protein % 4 === 0 ? ROLE_HOLDOUT : ROLE_FIT,
  );
  const fitPairs: number[] = [];
  for (let first = 0, pair = 0; first < count; first += 1) {
    for (let second = first + 1; second < count; second += 1, pair += 1) {
      [firsts[pair], seconds[pair]] = [first, second];
      const probability = EXCEEDANCE_SHARE * Math.exp(truth[first] + truth[second]);
      coordinates[pair] = random.share() < probability ? 1 : -1;
      if (roles[first] === ROLE_FIT && roles[second] === ROLE_FIT) fitPairs.push(pair);
    }
  }
  const shape = { queryLength: 100, targetLength: 100, meanCosine: 0, cosineSpread: 0 };
  const profile = { logProfileMean: 0, logProfileSpread: 0, logEffective: 0 };
  const sample = withPromiscuities(
    {
      proteinCount: count,
      pairCount,
      hasProfiles: false,
      lengths: new Uint32Array(count).fill(100),
      cysteines: new Array(count).fill({ length: 100, cysteines: 0 }),
      roles,
      evidence: new Float64Array(0),
      profileScores: new Int32Array(0),
      scores: { scorePerCosine: 1, profileScore: 0 },
      fitPairs: Uint32Array.from(fitPairs),
      holdoutPairs: new Uint32Array(0),
      firsts,
      seconds,
      meanClosestCosine: new Float64Array(0),
      shapeAt: () => ({ ...shape, ...profile }),
      hubness: { weights: [], minimum: -1, maximum: 1 },
      referenceSet: new Uint32Array(0),
      hubnesses: moments.map(() => ({ hubness: 0, hubnessComponents: [] })),
    },
    new Float64Array(count),
  );
  return { sample, moments, coordinates, truth };
}

const notLeftOut = (): boolean => false;

describe('promiscuity', () => {
  const { sample, moments, coordinates, truth } = drawn(COUNT);
  const model = fitPromiscuity(sample, moments, coordinates, notLeftOut)!;
  const promiscuous = withPromiscuity(sample, moments, model);
  const { promiscuities } = promiscuous;

  it('predicts how often pairs of a protein exceed the threshold, also of proteins that the fit did not see', () => {
    const heldOut = [...truth.keys()].filter((protein) => sample.roles[protein] === ROLE_HOLDOUT);
    const meanOf = (values: Float64Array): number =>
      heldOut.reduce((sum, protein) => sum + values[protein] / heldOut.length, 0);
    const [meanTruth, meanFound] = [meanOf(truth), meanOf(promiscuities)];
    const squares = { error: 0, truth: 0 };
    for (const protein of heldOut) {
      const expected = truth[protein] - meanTruth;
      squares.error += (promiscuities[protein] - meanFound - expected) ** 2;
      squares.truth += expected ** 2;
    }
    expect(squares.error / squares.truth).toBeLessThan(0.1);
  });

  it('of a pair is the sum of both proteins, and is 0 before the fit', () => {
    expect(promiscuous.pairAt(0).promiscuity).toBe(promiscuities[0] + promiscuities[1]);
    expect(sample.pairAt(0).promiscuity).toBe(0);
  });

  it('of a target is that of the same protein as a query', () => {
    const [first, second] = moments;
    const table = {
      dimension: MEAN_WEIGHTS.length,
      rank: SKETCH_WEIGHTS.length,
      means: Float32Array.from([...first.mean, ...second.mean]),
      sketches: Float32Array.from([...first.sketch, ...second.sketch]),
    } as unknown as MomentTable;
    expect(momentSum(model, second)).toBe(promiscuities[1]);
    expect(targetMomentSum(model, table, 1)).toBeCloseTo(promiscuities[1], 5);
    expect(targetMomentSum(undefined, table, 1)).toBe(0);
  });

  it('does not count pairs that are left out', () => {
    const isLinked = (pair: number): boolean => sample.firsts[pair] < 40;
    const linked = coordinates.map((coordinate, pair) => (isLinked(pair) ? 9 : coordinate));
    const without = fitPromiscuity(sample, moments, coordinates, isLinked);
    expect(fitPromiscuity(sample, moments, linked, isLinked)).toEqual(without);
    expect(fitPromiscuity(sample, moments, linked, notLeftOut)).not.toEqual(model);
  });

  it('is not fitted to a small sample', () => {
    const small = drawn(200);
    expect(fitPromiscuity(small.sample, small.moments, small.coordinates, notLeftOut)).toBeUndefined();
  });
});
