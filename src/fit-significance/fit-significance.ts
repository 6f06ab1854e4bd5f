import { mkdir, rm } from 'node:fs/promises';
import {
  CARD_FORMAT,
  CONDITIONING_CONTEXT_ID,
  ESTIMAND_ID,
  MAXIMUM_LOG_EXTRAPOLATION,
  METHOD_ID,
  NULL_POPULATION_ID,
  PROFILED_CONTEXT_ID,
  PROFILED_FORMAT,
  QUALIFICATION_ID,
  TAIL_COORDINATE_ID,
  calibrationDirectory,
  type CalibrationCard,
} from '../significance/card.js';
import { concentration, projectMoments, type ProjectedMoments } from '../significance/moments.js';
import { canonicalSha256 } from '../canonical.js';
import { sampleDistinct, seededRandom, type Random, type SeededRandom } from '../random.js';
import { Refusal } from '../errors.js';
import { lockFolder } from '../processes.js';
import type { Release } from '../release/release.js';
import { targetTexts } from '../search/affine.js';
import { referencePolicyId } from '../search/plan.js';
import { fitStrata } from './bins.js';
import {
  measureHubnesses,
  measureSampleHubness,
  REFERENCE_SET_COUNT,
  type HubnessSample,
} from './hubness.js';
import { FEWEST_PAIRS, measureShapes } from './fit.js';
import { controlPairs } from './control.js';
import { reversedCoordinates } from './decoys.js';
import { measureMoments, momentBasis, readMoments, type MomentBasis } from './moments.js';
import { fitNull, type NullFit } from './null.js';
import { calibratePhases, phaseMeter, type CalibrateOptions } from './options.js';
import { scorePairs } from './pairs.js';
import { decoyCountOf, observePopulations } from './populations.js';
import { createNullSample, ROLE_FIT, ROLE_HOLDOUT, type NullSample } from './sample.js';
import { isSmallSample } from './tail.js';
import { openTokenReader, type TokenReader } from '../release/rows/token-reader.js';
import { checkpointFit, type CheckpointedFit } from './checkpointed-fit.js';
import type { Workplace } from './checkpoints.js';
import { writeCalibration, type CardContent } from './write.js';

const DEFAULT_SAMPLE_COUNT = 4_000;
/** A sixth of the pairs: README says what is given up. */
export const QUICK_SAMPLE_COUNT = 1_600;
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
 * Errors  Refusal `calibration_impossible` where the release has too few usable pairs, `build_running` where another
 *         process calibrates it; Fault of kernels, encoder, disk
 * Cost    sampleCount² ÷ 2 pairs of kernels, and one read of the release's tokens
 */
export async function calibrateRelease(options: CalibrateOptions): Promise<CalibrationCard> {
  const random = seededRandom(options.seed ?? 1);
  const targets = chooseSample(options, random);
  const work = workplaceOf(options, targets);
  await mkdir(work.folder, { recursive: true });
  const unlock = await lockFolder(work.folder, 'This release is being calibrated');
  try {
    const card = await calibrateIn(work, targets, random, options);
    // With its lock.
    await rm(work.folder, { recursive: true, force: true });
    return card;
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function calibrateIn(
  work: Workplace,
  targets: Uint32Array,
  random: SeededRandom,
  options: CalibrateOptions,
): Promise<CalibrationCard> {
  const { release } = options;
  const reader = await openTokenReader(release);
  try {
    const course = { random, report: announce(options, targets.length), work };
    const { report } = course;
    const scored = await scoreSample(options, targets, reader, course);
    const shapes = measureShapes(scored.sample, random);
    const sample = measureSampleHubness(scored.sample, shapes, random);
    const labels = labelsOf(options, targets);
    const inputs = { seed: options.seed ?? 1, labels: labels === undefined ? null : Array.from(labels) };
    const fit = await checkpointFit(work, inputs, sample, random, () => {
      const found = fitNull(sample, shapes, random, labels);
      if (found !== undefined) return found;
      throw impossible(release, 'their scores do not vary, or almost all are relatives');
    });
    const controlled = await controlPairs(options, targets, reader, sample, fit, work, (done) =>
      report('controls', done),
    );
    const content = await describe(options, targets, { ...scored, sample }, controlled, course);
    const moments = await measureMoments(
      release,
      reader,
      scored.basis,
      work,
      (done) => report('moments', done),
      options.signal,
    );
    const hubnesses = await measureHubnesses({
      release,
      backend: options.backend,
      store: options.store,
      reader,
      moments,
      scales: shapes,
      hubness: sample.hubness,
      referenceSet: sample.referenceSet.map((member) => targets[member]),
      work,
      basisDigest: scored.basis.digest,
      options: { signal: options.signal, threads: options.threads },
      onReferenceSet: (done) => report('panel', done),
    });
    return await writeCalibration(release.directory, content, moments, hubnesses);
  } finally {
    await reader.close();
  }
}

/** What all parts of one calibration share. */
interface Course {
  readonly random: Random;
  readonly report: ReturnType<typeof phaseMeter>;
  readonly work: Workplace;
}

/** What is done is kept here until the calibration is, so that a killed one goes on from there. */
function workplaceOf({ release, backend, encoder }: CalibrateOptions, targets: Uint32Array): Workplace {
  const folder = `${calibrationDirectory(release.directory)}.work`;
  const identity = {
    release: release.id,
    targets: Array.from(targets),
    kernels: backend.version,
    encoder: encoder.digest,
    method: [METHOD_ID, TAIL_COORDINATE_ID, CARD_FORMAT, PROFILED_FORMAT],
  };
  return { folder, identity: canonicalSha256(identity) };
}

/** Tells of all phases before the first, and of their progress as of one piece of work. */
function announce({ release, onPlan, onProgress }: CalibrateOptions, sampleCount: number): Course['report'] {
  const phases = calibratePhases({
    sampleCount,
    targetCount: release.targets.count,
    reversedCount: isSmallSample((sampleCount * (sampleCount - 1)) / 2) ? sampleCount : 0,
    decoyCount: decoyCountOf(sampleCount),
    referenceSetCount: Math.min(REFERENCE_SET_COUNT, sampleCount),
  });
  onPlan?.(phases);
  return phaseMeter(phases, onProgress);
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
  readonly basis: MomentBasis;
  readonly maximumConcentration: number;
}

async function scoreSample(
  options: CalibrateOptions,
  targets: Uint32Array,
  reader: TokenReader,
  { random, report, work }: Course,
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
    work,
    options: { signal, threads },
    onPairs: (done) => report('pairs', done),
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
  { sample, moments, basis, maximumConcentration }: ScoredSample & { readonly sample: HubnessSample },
  fit: CheckpointedFit,
  { random, report, work }: Course,
): Promise<CardContent> {
  const { release, seed } = options;
  const { pairNull } = fit;
  const decoys = {
    options,
    targets,
    texts: targetTexts(release, targets),
    sample,
    moments,
    basis,
    pairNull,
    work,
    fitDigest: fit.digest,
    report,
  };
  const isSmall = isSmallSample(sample.pairCount);
  const { edges, bins } = fitStrata(sample, fit, isSmall ? await reversedCoordinates(decoys) : []);
  const longest = sample.lengths.reduce((most, length) => Math.max(most, length), 0);
  const range = { minimum: FEWEST_RESIDUES, maximum: LONGEST_FACTOR * longest };
  const dimension = release.manifest.encoder.dimension;
  return {
    format: sample.hasProfiles ? PROFILED_FORMAT : CARD_FORMAT,
    release_id: release.id,
    policy_id: referencePolicyId(release.manifest),
    seed: seed ?? 1,
    null_population_id: NULL_POPULATION_ID,
    tail_coordinate_id: TAIL_COORDINATE_ID,
    conditioning_context_id: sample.hasProfiles ? PROFILED_CONTEXT_ID : CONDITIONING_CONTEXT_ID,
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
    bias: { ...sample.hubness, panel: Array.from(sample.referenceSet, (member) => targets[member]) },
    bins,
    populations: await observePopulations({ decoys, fit, bins, edges, random }),
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
  const { profiles } = shape;
  const { slopes, slowerShare } = pairNull.rate;
  const [lengthSlope, meanSlope, spreadSlope, ...ofPairs] = slopes;
  const [profileMeanSlope, profileSpreadSlope, effectiveSlope, ...hubnessComponentSlopes] = ofPairs;
  const ofProfiles = profiles && {
    log_mean: profiles.logMean,
    log_spread: profiles.logSpread,
    log_effective: profiles.logEffective,
    mean_slope: profileMeanSlope,
    spread_slope: profileSpreadSlope,
    effective_slope: effectiveSlope,
    leanings: pairNull.hubnessComponents,
    leaning_slopes: hubnessComponentSlopes,
  };
  return {
    log_shorter: shape.logShorter,
    log_longer: shape.logLonger,
    mean_cosine: shape.meanCosine,
    cosine_spread: shape.cosineSpread,
    bias: pairNull.hubness,
    weights: pairNull.weights,
    scale: pairNull.scale,
    length_slope: lengthSlope,
    mean_slope: meanSlope,
    spread_slope: spreadSlope,
    slower_share: slowerShare,
    score_per_cosine: pairNull.scorePerCosine,
    ...(ofProfiles === undefined ? {} : { profiles: ofProfiles }),
  };
}

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
