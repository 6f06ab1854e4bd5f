import { rm } from 'node:fs/promises';
import {
  CARD_FORMAT,
  CONDITIONING_CONTEXT_ID,
  ESTIMAND_ID,
  MAXIMUM_LOG_EXTRAPOLATION,
  METHOD_ID,
  NULL_POPULATION_ID,
  QUALIFICATION_ID,
  TAIL_COORDINATE_ID,
  calibrationDirectory,
  type CalibrationCard,
} from '../calibration/card.js';
import { concentration, projectMoments, type ProjectedMoments } from '../calibration/moments.js';
import { sampleDistinct, seededRandom, type Random } from '../random.js';
import { Refusal } from '../errors.js';
import type { Release } from '../release/release.js';
import { targetTexts } from '../search/affine.js';
import { referencePolicyId } from '../search/policy.js';
import { fitBins, stratumEdges } from './bins.js';
import { measureBiases, measureSampleBias, type BiasedSample } from './bias.js';
import { FEWEST_PAIRS, measureShapes } from './fit.js';
import { controlPairs } from './control.js';
import { reversedCoordinates } from './decoys.js';
import { measureMoments, momentBasis, readMoments } from './moments.js';
import { fitNull, type NullFit } from './null.js';
import type { CalibrateOptions } from './options.js';
import { scorePairs } from './pairs.js';
import { observePopulations } from './populations.js';
import { createNullSample, ROLE_FIT, ROLE_HOLDOUT, type NullSample } from './sample.js';
import { isSmallSample } from './tail.js';
import { openTokenReader, type TokenReader } from './tokens.js';
import { writeCalibration, type CardContent } from './write.js';

const DEFAULT_SAMPLE_COUNT = 4_000;
const MAX_SAMPLE_COUNT = 65_535;
/** Shorter proteins have scores so coarse that no tail fits them. */
const FEWEST_RESIDUES = 30;
/** Every fourth protein is held out, so that one pair in sixteen judges the fit of nine; every second of a few. */
const HOLDOUT_STRIDE = 4;
const SMALL_HOLDOUT_STRIDE = 2;
const SMALL_SAMPLE_COUNT = 300;
/** Above this many times the longest calibrated length a pair counts as not covered. */
const LONGEST_FACTOR = 2;

/**
 * Fits the null of a release and writes it beside the release. Killed at any moment, the same call goes on from there.
 * Errors  Refusal `calibration_impossible` where the release has too few usable pairs; Fault of kernels, encoder, disk
 * Cost    sampleCount² ÷ 2 pairs of kernels, and one read of the release's tokens
 */
export async function calibrateRelease(options: CalibrateOptions): Promise<CalibrationCard> {
  const { release } = options;
  const random = seededRandom(options.seed ?? 1);
  const targets = chooseSample(options, random);
  const reader = await openTokenReader(release);
  const workFolder = `${calibrationDirectory(release.directory)}.work`;
  try {
    const scored = await scoreSample(options, targets, reader, workFolder, random);
    const shapes = measureShapes(scored.sample, random);
    const sample = measureSampleBias(scored.sample, shapes, random);
    const fit = fitNull(sample, shapes, random, labelsOf(options, targets));
    if (fit === undefined) throw impossible(release, 'their scores do not vary, or almost all are relatives');
    const controlled = await controlPairs(options, targets, reader, sample, fit);
    const content = await describe(options, targets, { ...scored, sample }, controlled, random);
    const moments = await measureMoments(
      release,
      reader,
      scored.basis,
      (done) => options.onProgress?.({ stage: 'measure', done, total: release.targets.count }),
      options.signal,
    );
    const biases = await measureBiases({
      release,
      backend: options.backend,
      store: options.store,
      reader,
      moments,
      scales: shapes,
      bias: sample.bias,
      panel: sample.panel.map((member) => targets[member]),
      options: { signal: options.signal, threads: options.threads },
      onPanel: (done, total) => options.onProgress?.({ stage: 'panel', done, total }),
    });
    const card = await writeCalibration(release.directory, content, moments, biases);
    await rm(workFolder, { recursive: true, force: true });
    return card;
  } finally {
    await reader.close();
  }
}

/** Ascending target indices of proteins long enough. */
function chooseSample({ release, sampleCount }: CalibrateOptions, random: Random): Uint32Array {
  const usable: number[] = [];
  for (let target = 0; target < release.targets.count; target += 1) {
    if (release.targets.length(target) >= FEWEST_RESIDUES) usable.push(target);
  }
  const count = Math.min(MAX_SAMPLE_COUNT, sampleCount ?? DEFAULT_SAMPLE_COUNT);
  const chosen = sampleDistinct(usable.length, count, random);
  if ((chosen.length * (chosen.length - 1)) / 2 < FEWEST_PAIRS) {
    throw impossible(release, `only ${chosen.length} have ${FEWEST_RESIDUES} residues or more`);
  }
  return chosen.map((index) => usable[index]);
}

interface ScoredSample {
  readonly sample: NullSample;
  readonly moments: readonly ProjectedMoments[];
  readonly basis: { readonly rank: number; readonly basis: Float32Array };
  readonly maximumConcentration: number;
}

async function scoreSample(
  options: CalibrateOptions,
  targets: Uint32Array,
  reader: TokenReader,
  workFolder: string,
  random: Random,
): Promise<ScoredSample> {
  const { release, backend, store, signal, threads } = options;
  const moments = [];
  for (const target of targets) moments.push(await readMoments(release, reader, target));
  const basis = momentBasis(moments, random);
  const scores = await scorePairs({
    release,
    backend,
    store,
    reader,
    sample: targets,
    workFolder,
    plan: { release: release.id, targets: Array.from(targets), kernels: backend.version },
    options: { signal, threads },
    onPairs: (done, total) => options.onProgress?.({ stage: 'calibrate', done, total }),
  });
  const stride = targets.length < SMALL_SAMPLE_COUNT ? SMALL_HOLDOUT_STRIDE : HOLDOUT_STRIDE;
  const roles = targets.map((_, index) => (index % stride === 0 ? ROLE_HOLDOUT : ROLE_FIT));
  const projected = moments.map((moment) => projectMoments(moment, basis.basis, basis.rank));
  return {
    sample: createNullSample(release, targets, Uint8Array.from(roles), projected, scores),
    moments: projected,
    basis,
    maximumConcentration: Math.max(...moments.map(concentration)),
  };
}

async function describe(
  options: CalibrateOptions,
  targets: Uint32Array,
  { sample, moments, basis, maximumConcentration }: ScoredSample & { readonly sample: BiasedSample },
  fit: NullFit,
  random: Random,
): Promise<CardContent> {
  const { release, seed } = options;
  const edges = stratumEdges(sample);
  const { pairNull } = fit;
  const decoys = {
    options,
    targets,
    texts: targetTexts(release, targets),
    sample,
    moments,
    basis,
    pairNull,
  };
  const isSmall = isSmallSample(sample.pairCount);
  const bins = fitBins(sample, fit, edges, isSmall ? await reversedCoordinates(decoys) : []);
  const longest = sample.lengths.reduce((most, length) => Math.max(most, length), 0);
  const range = { minimum: FEWEST_RESIDUES, maximum: LONGEST_FACTOR * longest };
  const dimension = release.manifest.encoder.dimension;
  return {
    format: CARD_FORMAT,
    release_id: release.id,
    policy_id: referencePolicyId(release.manifest),
    seed: seed ?? 1,
    null_population_id: NULL_POPULATION_ID,
    tail_coordinate_id: TAIL_COORDINATE_ID,
    conditioning_context_id: CONDITIONING_CONTEXT_ID,
    method_id: METHOD_ID,
    estimand_id: ESTIMAND_ID,
    qualification_id: QUALIFICATION_ID,
    maximum_log_extrapolation_factor: MAXIMUM_LOG_EXTRAPOLATION,
    sample: describeSample(sample, fit),
    supported: {
      query_minimum_residues: range.minimum,
      query_maximum_residues: range.maximum,
      target_minimum_residues: range.minimum,
      target_maximum_residues: range.maximum,
      maximum_concentration: maximumConcentration,
    },
    stratum_edges: edges,
    pair_null: describePairNull(pairNull),
    bias: { ...sample.bias, panel: Array.from(sample.panel, (member) => targets[member]) },
    bins,
    populations: await observePopulations({ decoys, fit, bins, edges, random }),
    tried: TRIED,
    moments: { dimension, rank: basis.rank },
  };
}

function describeSample(sample: NullSample, fit: NullFit): CardContent['sample'] {
  return {
    protein_count: sample.proteinCount,
    pair_count: sample.pairCount,
    connected_pair_count: fit.connectedPairCount,
    link_count: fit.linkCount,
    link_log_probability: fit.linkLogProbability,
    largest_component: fit.largestComponent,
  };
}

function describePairNull({ shape, ...pairNull }: NullFit['pairNull']): CardContent['pair_null'] {
  return {
    log_shorter: shape.logShorter,
    log_longer: shape.logLonger,
    mean_cosine: shape.meanCosine,
    cosine_spread: shape.cosineSpread,
    bias: pairNull.bias,
    weights: pairNull.weights,
    scale: pairNull.scale,
    length_slope: pairNull.lengthSlope,
    mean_slope: pairNull.meanSlope,
    spread_slope: pairNull.spreadSlope,
    score_per_cosine: pairNull.scorePerCosine,
  };
}

/** Measured on SCOPe domains of folds that the encoder had not seen. */
const TRIED: readonly string[] = [
  'Lengths alone: a third of the false hits expected for all-beta queries, and 1.4 times those for all-alpha.',
  'Lengths and general closeness without token moments: membrane proteins and zinc fingers fill E <= 0.1.',
  'Moments without general closeness: half as many false hits as expected for all-beta queries.',
  'Affine scores over the root of the shorter length, with four times the closeness: an eighth fewer true pairs at ' +
    'one error a query.',
  'Four fifths of the slopes that the rate has over moments: a twentieth fewer true pairs, and half of the false ' +
    'hits expected for alpha/beta queries.',
  'Half of them: a fiftieth more true pairs, but 1.1 to 1.7 times as many false hits as expected.',
  'A rate that falls with the ratio of the lengths, as it does near the threshold: up to 1.8 times the false hits ' +
    'expected for short queries, and a twentieth fewer true pairs.',
  'Covariates held at the ends of the central 99.9 %: up to 2.3 times the false hits expected at E = 0.01.',
  'A generalised Pareto of shape 0.01, as if rates scattered by a tenth: 0.7 of the false hits expected at 0.1.',
  'A sample of 2,200 proteins instead of 4,000: with some seeds the hold-out disqualifies a bin or two of ten.',
  'Either direction of MaxSim alone, or in other parts: fewer true pairs at one error a query.',
  'The 90th percentile of a protein against a panel instead of its closeness: more true pairs at one error, but ' +
    'twice and five times the false hits expected for alpha/beta queries.',
  'One exponential for all exceedances: relatives that no chain reveals make the tail a tenth too heavy.',
  'Samples of less than some 1,600 proteins without reversed sequences beside them: relatives that no chain reveals ' +
    'make the tail a tenth too heavy, and 0.4 of the false hits expected at E = 0.1.',
  'Repeats of queries masked, as tantan finds them, instead of controls: a twentieth fewer true pairs at one error a ' +
    'query, and 30 times the hits claimed of shuffled whole proteins at E = 0.001.',
  'The shuffled query as the control: four times the hits claimed of reversed whole proteins at E = 0.01.',
  'Controls that count from a coordinate of 2 on: 0.5 to 0.7 of the hits claimed of decoys, and no more true pairs.',
  'Each bin with a tail of its own: less even over target lengths, and a thirtieth fewer true pairs.',
];

/** Groups of the sampled proteins by label; −1 where a protein has none. */
function labelsOf({ release, labels }: CalibrateOptions, targets: Uint32Array): Int32Array | undefined {
  if (labels === undefined) return undefined;
  const numbers = new Map<string, number>();
  return Int32Array.from(targets, (target) => {
    const label = labels.get(release.targets.id(target));
    if (label === undefined) return -1;
    if (!numbers.has(label)) numbers.set(label, numbers.size);
    return numbers.get(label)!;
  });
}

function impossible({ id, targets }: Release, why: string): Refusal {
  return new Refusal(
    'calibration_impossible',
    `Release ${id} cannot be calibrated: of its ${targets.count} proteins ${why}. Searches work, without E-values.`,
    { targets: targets.count },
  );
}
