import {
  CARD_FORMAT,
  METHOD_ID,
  PROFILED_FORMAT,
  TAIL_COORDINATE_ID,
  type CalibrationCard,
} from '../significance/card.js';
import { concentration, projectMoments } from '../significance/moments.js';
import { sampleDistinct, seededRandom, type Random, type SeededRandom } from '../random.js';
import { Refusal } from '../errors.js';
import type { Release } from '../release/release.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import { targetTexts } from '../search/pairs/affine.js';
import { fitStrata } from './bins.js';
import { checkpointFit } from './checkpointed-fit.js';
import { withCheckpoints, type CheckpointFolder } from './checkpoints.js';
import { controlPairs } from './control.js';
import { reversedCoordinates } from './decoys.js';
import { describeCard } from './describe-card.js';
import { FEWEST_PAIRS, measureShapes } from './fit.js';
import { measureHubnesses, measureSampleHubness, REFERENCE_SET_COUNT } from './hubness.js';
import { measureMoments, momentBasis, readSampleMoments } from './moments.js';
import { fitNull, type NullFit } from './null.js';
import { calibratePhases, phaseMeter, type CalibrateOptions, type CalibratePhase } from './options.js';
import { scorePairs } from './pairs.js';
import { withPromiscuity } from './promiscuity.js';
import { decoyCountOf, observePopulations } from './populations.js';
import { createNullSample, ROLE_FIT, ROLE_HOLDOUT } from './sample.js';
import { familyLabels, numberedLabels } from './statistics/family-labels.js';
import { isSmallSample } from './tail.js';
import { writeCalibration } from './write.js';

const DEFAULT_SAMPLE_COUNT = 4_000;
/** A sample with a sixth of the default pairs. README.md states the loss in resolution. */
export const QUICK_SAMPLE_COUNT = 1_600;
const MAX_SAMPLE_COUNT = 65_535;
/** Scores of shorter proteins are so coarse that no tail fits them. */
const FEWEST_RESIDUES = 30;
/** Fewest proteins that have FEWEST_PAIRS pairs. */
const FEWEST_PROTEINS = Math.ceil((1 + Math.sqrt(1 + 8 * FEWEST_PAIRS)) / 2);
/** Every fourth protein is held out: one pair in sixteen tests the fit of nine in sixteen. */
const HOLDOUT_STRIDE = 4;
/** Every second protein of a small sample is held out. */
const SMALL_HOLDOUT_STRIDE = 2;
const SMALL_SAMPLE_COUNT = 300;

/**
 * Fits the null model of a release and writes the calibration beside it. If the process is killed, a call with the same
 * options continues from the checkpoints and writes the same bytes.
 * Errors  Refusal `calibration_impossible` if the release has too few usable pairs, `build_running` if another process
 *         calibrates it; Fault of kernels, encoder or token file; the signal's reason; those of the file system
 * Cost    sampleCount² ÷ 2 kernel pairs, and one pass over the release's tokens
 */
export async function calibrateRelease(options: CalibrateOptions): Promise<CalibrationCard> {
  const random = seededRandom(options.seed ?? 1);
  const targets = chooseSample(options, random);
  return withCheckpoints(options.release, checkpointIdentity(options, targets), (checkpoints, reader) =>
    calibrate(options, targets, checkpoints, reader, random),
  );
}

/** The stages of a calibration in order. The order of draws from `random` determines the bytes of the card. */
async function calibrate(
  options: CalibrateOptions,
  targets: Uint32Array,
  checkpoints: CheckpointFolder,
  reader: TokenReader,
  random: SeededRandom,
): Promise<CalibrationCard> {
  const { release, seed = 1 } = options;
  const report = planPhases(options, targets.length);
  const access = { ...options, reader, checkpoints };

  // Score: moments of the sampled proteins, then kernel scores of all their pairs.
  const sampleMoments = await readSampleMoments(release, reader, targets);
  const basis = momentBasis(sampleMoments, random);
  const moments = sampleMoments.map((protein) => projectMoments(protein, basis.basis, basis.rank));
  const scores = await scorePairs({ ...access, sample: targets, onPairs: (done) => report('pairs', done) });
  const pairs = createNullSample(release, targets, rolesOf(targets.length), moments, scores);

  // Fit: covariate scales, hubness, the null model, then reversed-query controls of high-scoring pairs.
  const scales = measureShapes(pairs, random);
  const plain = measureSampleHubness(pairs, scales, random, options.referenceSet);
  const labels = labelsOf(options, targets);
  const inputs = { seed, labels: labels === undefined ? null : Array.from(labels) };
  const uncontrolled = await checkpointFit(checkpoints, inputs, plain, random, () =>
    fitOrRefuse(release, fitNull(plain, scales, moments, random, labels)),
  );
  const sample = withPromiscuity(plain, moments, uncontrolled.promiscuity);
  const fit = await controlPairs(access, targets, sample, uncontrolled, (done) => report('controls', done));

  // Decoys: reversed sequences beside a small sample, then populations that the fit has not used.
  const texts = targetTexts(release, targets);
  const decoys = { access, targets, texts, sample, moments, basis, fit, report };
  const isSmall = isSmallSample(sample.pairCount);
  const reversedPairs = isSmall ? await reversedCoordinates(decoys) : [];
  const strata = fitStrata(sample, fit, reversedPairs, options.maximumStrata);
  const populations = await observePopulations({ decoys, ...strata, random });

  // Describe and write: the card, then moments and hubness of every target of the release.
  const maximumConcentration = Math.max(...sampleMoments.map(concentration));
  const results = { seed, targets, sample, fit, strata, populations, rank: basis.rank, maximumConcentration };
  const content = describeCard(release, { ...results, fewestResidues: FEWEST_RESIDUES });
  const table = await measureMoments(access, basis, (done) => report('moments', done));
  const members = sample.referenceSet.map((member) => targets[member]);
  const hubnesses = await measureHubnesses({
    ...access,
    moments: table,
    scales,
    hubness: sample.hubness,
    members: Array.from(members, (target) => ({ target, read: () => reader.read(target) })),
    membersIdentity: Array.from(members),
    basisDigest: basis.digest,
    onReferenceSet: (done) => report('panel', done),
  });
  return writeCalibration(release.directory, content, { moments: table, hubnesses });
}

/** Returns a JSON value of the inputs of a calibration. Checkpoints with another identity are not resumed. */
function checkpointIdentity({ release, backend, encoder }: CalibrateOptions, targets: Uint32Array): unknown {
  return {
    release: release.id,
    targets: Array.from(targets),
    kernels: backend.version,
    encoder: encoder.digest,
    method: [METHOD_ID, TAIL_COORDINATE_ID, CARD_FORMAT, PROFILED_FORMAT],
  };
}

/**
 * Returns the phases of a calibration of a release.
 * @param targetCount  proteins of the release
 * @param sampleCount  proteins whose pairs are scored. Default: as many as a calibration without options samples
 */
export function plannedPhases(
  targetCount: number,
  sampleCount = Math.min(DEFAULT_SAMPLE_COUNT, targetCount),
): readonly CalibratePhase[] {
  return calibratePhases({
    sampleCount,
    targetCount,
    reversedCount: isSmallSample((sampleCount * (sampleCount - 1)) / 2) ? sampleCount : 0,
    decoyCount: decoyCountOf(sampleCount),
    referenceSetCount: Math.min(REFERENCE_SET_COUNT, sampleCount),
  });
}

/** Announces all phases, and returns the function that reports the progress of each. */
function planPhases(
  { release, onPlan, onProgress }: CalibrateOptions,
  sampleCount: number,
): ReturnType<typeof phaseMeter> {
  const phases = plannedPhases(release.targets.count, sampleCount);
  onPlan?.(phases);
  return phaseMeter(phases, onProgress);
}

/** Draws the sample. Returns ascending target indices of proteins with at least FEWEST_RESIDUES residues. */
function chooseSample({ release, sampleCount }: CalibrateOptions, random: Random): Uint32Array {
  const usable: number[] = [];
  for (let target = 0; target < release.targets.count; target += 1) {
    if (release.targets.length(target) >= FEWEST_RESIDUES) usable.push(target);
  }
  const count = Math.min(MAX_SAMPLE_COUNT, sampleCount ?? DEFAULT_SAMPLE_COUNT);
  const chosen = sampleDistinct(usable.length, count, random);
  if (chosen.length < FEWEST_PROTEINS) {
    throw impossible(
      release,
      `${chosen.length} of its ${release.targets.count} proteins have ${FEWEST_RESIDUES} residues or more, and ` +
        `${FEWEST_PROTEINS} are needed`,
    );
  }
  return chosen.map((index) => usable[index]);
}

/** Assigns each protein of the sample to the fit or to the hold-out. */
function rolesOf(count: number): Uint8Array {
  const stride = count < SMALL_SAMPLE_COUNT ? SMALL_HOLDOUT_STRIDE : HOLDOUT_STRIDE;
  return Uint8Array.from({ length: count }, (_, index) => (index % stride === 0 ? ROLE_HOLDOUT : ROLE_FIT));
}

/** Returns a number for the given label of each sampled protein, or for its family; −1 for proteins without one. */
function labelsOf({ release, labels }: CalibrateOptions, targets: Uint32Array): Int32Array | undefined {
  if (labels === undefined) {
    const families = familyLabels(release, targets);
    return families.some((label) => label >= 0) ? families : undefined;
  }
  return numberedLabels(targets, (target) => labels.get(release.targets.id(target)));
}

function fitOrRefuse(release: Release, fit: NullFit | undefined): NullFit {
  if (fit !== undefined) return fit;
  throw impossible(
    release,
    `the scores of its ${release.targets.count} proteins do not vary, or almost all are homologs`,
  );
}

function impossible({ id, targets }: Release, why: string): Refusal {
  return new Refusal(
    'calibration_impossible',
    `Release ${id} cannot be calibrated: ${why}. Searches work, without E-values.`,
    { targets: targets.count },
  );
}
