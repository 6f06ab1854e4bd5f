import { join } from 'node:path';
import {
  ESTIMAND_ID,
  MAXIMUM_LOG_EXTRAPOLATION,
  REFERENCE_FORMAT,
  REFERENCE_METHOD_ID,
  REFERENCE_POPULATION_ID,
  REFERENCE_QUALIFICATION_ID,
  TAIL_COORDINATE_ID,
  conditioningContextId,
  type CalibrationCard,
} from '../../significance/card.js';
import { canonicalSha256 } from '../../canonical.js';
import { momentForm } from '../../significance/moments.js';
import type { ReferenceNull } from '../../significance/reference-null.js';
import type { Release } from '../../release/release.js';
import { referencePolicyId } from '../../search/plan.js';
import { seededRandom } from '../../random.js';
import { withCheckpoints } from '../checkpoints.js';
import { measureHubnesses } from '../hubness.js';
import { measureLevel, type Level } from './level.js';
import { levelPairCount, planLevelPairs } from './level-pairs.js';
import { REFERENCE_CALIBRATION } from './make.js';
import { measureMoments } from '../moments.js';
import { measureRepeats } from './repeats.js';
import {
  phaseMeter,
  referencePhases,
  type CalibratePhase,
  type MeasureAccess,
  type MeasureOptions,
} from '../options.js';
import { writeCalibration, type CardContent, type TargetCovariates } from '../write.js';

/** A calibration by the reference null, or the reason why the release needs a null of its own. */
export type ReferenceOutcome =
  { readonly kind: 'calibrated'; readonly card: CalibrationCard } | { readonly kind: 'contradicted' };

/** Members of the reference set that shipped encoders have. */
const USUAL_MEMBERS = REFERENCE_CALIBRATION.referenceSet.count;

/** Returns the phases of a calibration by a reference null of the usual size, for an estimate. */
export function plannedReferencePhases(targetCount: number): readonly CalibratePhase[] {
  return referencePhases({
    targetCount,
    memberCount: USUAL_MEMBERS,
    pairCount: levelPairCount(targetCount),
    hasRepeats: true,
  });
}

/** Returns whether the scores of a release and those of a reference null are comparable to the bit. */
export function isOfReference({ manifest }: Release, { card }: ReferenceNull): boolean {
  const { profileScale, inverseStep } = momentForm(manifest);
  return (
    manifest.encoder.sha256 === card.encoder_sha256 &&
    canonicalSha256(manifest.affine) === card.affine_sha256 &&
    inverseStep === card.form.inverse_step &&
    profileScale === card.form.profile_scale
  );
}

/**
 * Calibrates a release by the reference null of its encoder. Measures moments and hubness of every target, and fits the
 * level to pairs of the release. Tests the null on pairs of held-out proteins, and writes the calibration beside the
 * release unless they contradict it. A killed calibration resumes from its checkpoints.
 * Errors  Refusal `build_running` if another process calibrates the release; Fault of kernels or token file; the
 *         signal's reason; those of the file system
 * Cost    one MaxSim scan of the release for each member of the reference set, and up to 60,000 kernel pairs
 */
export async function calibrateByReference(
  options: MeasureOptions & { readonly seed?: number },
  reference: ReferenceNull,
): Promise<ReferenceOutcome> {
  const { release, backend, seed = 1 } = options;
  const plan = planLevelPairs(release, reference.card.supported, seededRandom(seed));
  const phases = referencePhases({
    targetCount: release.targets.count,
    memberCount: reference.proteins.length,
    pairCount: plan.pairCount,
    hasRepeats: reference.repeats !== undefined,
  });
  options.onPlan?.(phases);
  const report = phaseMeter(phases, options.onProgress);
  const identity = {
    release: release.id,
    reference: reference.id,
    seed,
    kernels: backend.version,
    method: [REFERENCE_METHOD_ID, REFERENCE_FORMAT],
  };
  return withCheckpoints(release, identity, async (checkpoints, reader) => {
    const access: MeasureAccess = { ...options, checkpoints, reader };
    const basis = {
      rank: reference.card.moments.rank,
      basis: reference.basis,
      digest: reference.card.files.basis.sha256,
    };
    const moments = await measureMoments(access, basis, (done) => report('moments', done));
    const hubnesses = await measureHubnesses({
      ...access,
      moments,
      scales: reference.pairNull.shape,
      hubness: reference.card.bias,
      members: reference.proteins.map((tokens) => ({ target: -1, read: () => Promise.resolve(tokens) })),
      membersIdentity: reference.id,
      basisDigest: basis.digest,
      onReferenceSet: (done) => report('panel', done),
    });
    const repeatShares =
      reference.repeats && (await measureRepeats(access, (done) => report('repeats', done)));
    const covariates = { moments, hubnesses, repeatShares };
    const level = await measureLevel(access, plan, covariates, reference, (done) => report('pairs', done));
    if (level === undefined) return { kind: 'contradicted' };
    const card = await write(release, reference, level, seed, covariates);
    return { kind: 'calibrated', card };
  });
}

async function write(
  release: Release,
  reference: ReferenceNull,
  level: Level,
  seed: number,
  covariates: TargetCovariates,
): Promise<CalibrationCard> {
  const { card } = reference;
  const content: CardContent = {
    format: REFERENCE_FORMAT,
    release_id: release.id,
    policy_id: referencePolicyId(release.manifest),
    seed,
    null_population_id: REFERENCE_POPULATION_ID,
    tail_coordinate_id: TAIL_COORDINATE_ID,
    conditioning_context_id: conditioningContextId(card.pair_null),
    method_id: REFERENCE_METHOD_ID,
    estimand_id: ESTIMAND_ID,
    qualification_id: REFERENCE_QUALIFICATION_ID,
    maximum_log_extrapolation_factor: MAXIMUM_LOG_EXTRAPOLATION,
    sample: card.sample,
    supported: card.supported,
    stratum_edges: card.stratum_edges,
    pair_null: card.pair_null,
    bias: { ...card.bias, panel: [] },
    bins: card.bins,
    populations: card.populations,
    reference: { id: reference.id, form: card.form, ...level },
    moments: card.moments,
  };
  return writeCalibration(release.directory, content, covariates, {
    path: join(reference.folder, card.files.proteins.path),
    file: card.files.proteins,
  });
}
