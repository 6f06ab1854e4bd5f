import { CHANCE_COORDINATE, controlledCoordinate, reversed } from '../significance/control.js';
import {
  momentForm,
  momentsOfPair,
  projectMoments,
  proteinMoments,
  type ProjectedMoments,
} from '../significance/moments.js';
import { countCysteines, pairCysteines } from '../significance/cysteines.js';
import {
  controlCoordinate,
  tailCoordinate,
  type NullPair,
  type PairScore,
} from '../significance/pair-null.js';
import { momentSum } from '../significance/moment-weights.js';
import { hubnessContribution, hubnessesOf, createHubnessTable } from '../significance/hubness.js';
import { canonicalSha256 } from '../canonical.js';
import { encodeHomologSets } from '../homologs/encode.js';
import { withoutHomologs } from '../homologs/finder.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { affineParameters } from '../search/pairs/affine.js';
import { profileScores } from '../search/pairs/profile-scores.js';
import { controlScores } from '../search/control.js';
import { profileTokenFormOf } from '../homologs/token-form.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import { maxsimDistances } from '../search/rank.js';
import type { HubnessSample } from './hubness.js';
import type { CheckpointedFit } from './checkpointed-fit.js';
import type { CalibrateOptions, CalibrationAccess } from './options.js';
import { runPhase } from './checkpoints.js';

/** Inputs of decoy scoring: the fitted null, and the sample whose proteins each decoy is paired with. */
export interface DecoyScoring {
  readonly access: CalibrationAccess;
  /** Target index of each sampled protein. */
  readonly targets: Uint32Array;
  /** Concatenated sequences of the sampled proteins (`targetTexts`). */
  readonly texts: Uint8Array;
  readonly sample: HubnessSample;
  readonly moments: readonly ProjectedMoments[];
  readonly basis: { readonly rank: number; readonly basis: Float32Array };
  readonly fit: CheckpointedFit;
  readonly report: Report;
}

/** Called with the number of finished decoys of a phase. */
type Report = (phase: 'reversed' | 'decoys', done: number) => void;

/** Computes the tail coordinates of one decoy with every protein of the sample, controls included, as a search does. */
async function decoyCoordinates(sequence: string, scoring: DecoyScoring): Promise<Float64Array> {
  const { access, targets, sample, moments, basis } = scoring;
  const { pairNull } = scoring.fit;
  const { backend, store, release, signal, threads } = access;
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const tokens = await encodeDecoy(sequence, access);
  const parameters = affineParameters(release, { sequence, tokens }, targets, scoring.texts);
  const { scores, ...sums } = await backend.measure(store, tokens, targets, parameters, { signal, threads });
  const ofProfiles = await profileScores(store, tokens, targets, backend, { signal, threads });
  const own = proteinMoments(tokens, momentForm(release.manifest));
  const decoy = projectMoments(own, basis.basis, basis.rank);
  const shapes = moments.map((moment, index) => ({
    queryLength: tokens.length,
    targetLength: sample.lengths[index],
    ...momentsOfPair(decoy, moment),
  }));
  const meanClosestCosine = shapes.map(({ targetLength }, index) => {
    const pairSums = { queryToTarget: sums.queryToTarget[index], targetToQuery: sums.targetToQuery[index] };
    return 1 - maxsimDistances(pairSums, tokens.length, targetLength, inverseStep).bidirectional;
  });
  const table = createHubnessTable(sample.hubness, {
    referenceSetSize: sample.referenceSet.length,
    proteinCount: 1,
  });
  sample.referenceSet.forEach((member, at) =>
    table.add(
      0,
      at,
      hubnessContribution(sample.hubness, pairNull.shape, shapes[member], meanClosestCosine[member]),
    ),
  );
  const decoyHubness = table.of(0);
  const decoyPromiscuity = momentSum(scoring.fit.promiscuity, decoy);
  const decoyCysteines = countCysteines(sequence);
  const pairOf = (index: number): NullPair => ({
    ...shapes[index],
    ...hubnessesOf(decoyHubness, sample.hubnesses[index]),
    promiscuity: decoyPromiscuity + sample.promiscuities[index],
    classBias: 0,
    repeats: 0,
    composition: 0,
    queryMembraneShare: 0,
    targetMembraneShare: 0,
    cysteines: pairCysteines(decoyCysteines, sample.cysteines[index]),
  });
  const scoreOf = (index: number, affineScore: number, profileScore: number): PairScore => {
    return { affineScore, meanClosestCosine: meanClosestCosine[index], profileScore };
  };
  const coordinates = Float64Array.from(shapes, (_, index) =>
    tailCoordinate(pairNull, pairOf(index), scoreOf(index, scores[index], ofProfiles[index])),
  );
  const highScoring = Uint32Array.from(shapes.keys()).filter(
    (index) => coordinates[index] > CHANCE_COORDINATE,
  );
  if (highScoring.length === 0) return coordinates;
  const others = highScoring.map((index) => targets[index]);
  const controls = await controlScores({ sequence, tokens }, others, access, { signal, threads });
  highScoring.forEach((index, at) => {
    const score = scoreOf(index, controls.affine[at], controls.profile[at]);
    const control = controlCoordinate(pairNull, pairOf(index), score);
    coordinates[index] = controlledCoordinate(coordinates[index], control);
  });
  return coordinates;
}

/** Encodes a decoy. In a release with profiles its homolog set is the decoy alone. */
async function encodeDecoy(
  sequence: string,
  { encoder, release, signal }: CalibrateOptions,
): Promise<QueryTokens> {
  const form = profileTokenFormOf(release.manifest, PROFILE_SCALE);
  const [tokens] =
    form === undefined
      ? await encoder.encode([sequence], { signal })
      : await encodeHomologSets(encoder, [withoutHomologs(sequence)], form, { signal });
  return tokens;
}

/**
 * Passes the tail coordinates of each decoy with the whole sample to `take`, in order. Each decoy is a checkpoint.
 * @param name  name of the checkpointed phase
 * Shape   coordinates [sample.proteinCount]
 * Unit    tail coordinates
 * Range   any finite number
 * Errors  Fault of encoder or kernels; the signal's reason; those of the file system
 */
export async function eachDecoy(
  name: string,
  sequences: readonly string[],
  scoring: DecoyScoring,
  take: (coordinates: Float64Array, index: number) => void,
  report: (done: number) => void,
): Promise<void> {
  const { access, fit } = scoring;
  await runPhase(access.checkpoints, {
    name,
    inputs: { fit: fit.digest, sequences: canonicalSha256(sequences) },
    stepCount: sequences.length,
    step: (index) => decoyCoordinates(sequences[index], scoring),
    take: (record, index) => take(new Float64Array(record), index),
    report,
  });
}

/**
 * Scores the reversed sequence of each sampled protein against the whole sample.
 * Shape   [sample.proteinCount][sample.proteinCount]
 * Unit    tail coordinates
 * Range   any finite number
 * Errors  those of `eachDecoy`
 * Source  reversed-sequence decoys (Karplus, Karchin, Shackelford & Hughey 2005)
 */
export async function reversedCoordinates(scoring: DecoyScoring): Promise<readonly Float64Array[]> {
  const { access, targets, report } = scoring;
  const sequences = Array.from(targets, (target) => reversed(access.release.targets.sequence(target)));
  const rows: Float64Array[] = [];
  const take = (row: Float64Array): unknown => rows.push(row);
  await eachDecoy('reversed', sequences, scoring, take, (done) => report('reversed', done));
  return rows;
}
