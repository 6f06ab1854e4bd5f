import { pairMoments, projectMoments, type MomentTable } from '../calibration/moments.js';
import { shapeTerms, shapeTermCount, type NullPair, type ShapeScales } from '../calibration/pair-null.js';
import { biasContribution, type BiasModel } from '../calibration/protein-bias.js';
import { sampleDistinct, type Random } from '../random.js';
import type { KernelBackend, KernelOptions, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { maxsimDistances } from '../search/maxsim.js';
import { readMoments } from './moments.js';
import type { NullSample } from './sample.js';
import type { TokenReader } from './tokens.js';
import { weightedLeastSquares } from './statistics/linear-quantile.js';

/** Sampled proteins that biases are measured on: chance moves a bias by a third of how far biases differ. */
export const PANEL_COUNT = 160;
const REGRESSION_PAIRS = 200_000;
/** Ends of what one panel member contributes, as quantiles over all pairs; the upper one is where relatives begin. */
const LOWER_SHARE = 0.02;
const UPPER_SHARE = 0.95;

/** A sample whose proteins' biases are known. */
export interface BiasedSample extends NullSample {
  readonly bias: BiasModel;
  /** Places of the panel within the sample, ascending. */
  readonly panel: Uint32Array;
  /** Of each sampled protein. */
  readonly biases: Float64Array;
  pairAt(pair: number): NullPair;
}

export function measureSampleBias(sample: NullSample, scales: ShapeScales, random: Random): BiasedSample {
  const chosen = sampleDistinct(sample.pairCount, REGRESSION_PAIRS, random);
  const termCount = shapeTermCount(scales);
  const terms = new Float64Array(chosen.length * termCount);
  chosen.forEach((pair, row) => shapeTerms(sample.shapeAt(pair), scales, terms, row * termCount));
  const values = Float64Array.from(chosen, (pair) => sample.closeness[pair]);
  const equal = new Float64Array(chosen.length).fill(1);
  const weights = Array.from(weightedLeastSquares(terms, values, equal, termCount));
  const unbounded = { weights, minimum: -Infinity, maximum: Infinity };
  const residual = (pair: number, model: BiasModel): number =>
    biasContribution(model, scales, sample.shapeAt(pair), sample.closeness[pair]);
  const residuals = Float64Array.from(chosen, (pair) => residual(pair, unbounded)).sort();
  const bias = {
    weights,
    minimum: residuals[Math.floor(LOWER_SHARE * residuals.length)],
    maximum: residuals[Math.floor(UPPER_SHARE * residuals.length)],
  };
  const panel = sampleDistinct(sample.proteinCount, PANEL_COUNT, random);
  const isPanel = new Uint8Array(sample.proteinCount);
  for (const member of panel) isPanel[member] = 1;
  const sums = new Float64Array(sample.proteinCount);
  const counts = new Uint32Array(sample.proteinCount);
  for (let pair = 0; pair < sample.pairCount; pair += 1) {
    const [first, second] = [sample.firsts[pair], sample.seconds[pair]];
    if (isPanel[first] + isPanel[second] === 0) continue;
    const found = residual(pair, bias);
    sums[first] += isPanel[second] * found;
    counts[first] += isPanel[second];
    sums[second] += isPanel[first] * found;
    counts[second] += isPanel[first];
  }
  const biases = sums.map((sum, protein) => sum / Math.max(1, counts[protein]));
  const pairAt = (pair: number): NullPair => ({
    ...sample.shapeAt(pair),
    queryBias: biases[sample.firsts[pair]],
    targetBias: biases[sample.seconds[pair]],
  });
  return Object.freeze({ ...sample, bias, panel, biases, pairAt });
}

export interface BiasMeasurement {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  readonly reader: TokenReader;
  readonly moments: MomentTable;
  readonly scales: ShapeScales;
  readonly bias: BiasModel;
  /** Ascending target indices. */
  readonly panel: Uint32Array;
  readonly options: KernelOptions;
  readonly onPanel: (done: number, total: number) => void;
}

/** The bias of every target of the release. Cost: one search of the release for each panel member. */
export async function measureBiases(measurement: BiasMeasurement): Promise<Float32Array> {
  const { release, backend, store, reader, moments, panel, options, onPanel } = measurement;
  const { targets, manifest } = release;
  const inverseStep = manifest.encoder.inverse_step;
  const sums = new Float64Array(targets.count);
  const isPanel = new Set(panel);
  for (const [index, member] of panel.entries()) {
    options.signal?.throwIfAborted();
    const tokens = await reader.read(member);
    const [found] = await backend.maxsim(store, [tokens], undefined, options);
    const own = await readMoments(release, reader, member);
    const projected = projectMoments(own, moments.basis, moments.rank);
    for (let target = 0; target < targets.count; target += 1) {
      if (target === member) continue;
      const pair = { queryToTarget: found.queryToTarget[target], targetToQuery: found.targetToQuery[target] };
      const length = targets.length(target);
      const closeness = 1 - maxsimDistances(pair, tokens.length, length, inverseStep).bidirectional;
      const shape = {
        queryLength: tokens.length,
        targetLength: length,
        ...pairMoments(projected, moments, target),
      };
      sums[target] += biasContribution(measurement.bias, measurement.scales, shape, closeness);
    }
    onPanel(index + 1, panel.length);
  }
  return Float32Array.from(
    sums,
    (sum, target) => sum / Math.max(1, panel.length - (isPanel.has(target) ? 1 : 0)),
  );
}
