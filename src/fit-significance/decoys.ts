import { CHANCE_COORDINATE, controlledCoordinate, reversed } from '../significance/control.js';
import {
  momentForm,
  projectMoments,
  proteinMoments,
  type ProjectedMoments,
} from '../significance/moments.js';
import { tailCoordinate, type PairNull } from '../significance/pair-null.js';
import { hubnessContribution, hubnessesOf, createHubnessTable } from '../significance/hubness.js';
import { canonicalSha256 } from '../canonical.js';
import { encodeHomologSets } from '../homologs/encode.js';
import { withoutHomologs } from '../homologs/finder.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { affineParameters } from '../search/affine.js';
import { controlScores } from '../search/control.js';
import { profileTokenFormOf } from '../homologs/token-form.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import { maxsimDistances } from '../search/rank.js';
import type { HubnessSample } from './hubness.js';
import type { CalibrateOptions } from './options.js';
import { momentsOfPair } from './sample.js';
import { runPhase, type Workplace } from './checkpoints.js';

/** The fitted null, and the sample whose proteins decoys are paired with. */
export interface DecoyScoring {
  readonly options: CalibrateOptions;
  /** Target index of each sampled protein. */
  readonly targets: Uint32Array;
  /** Their sequences (`targetTexts`). */
  readonly texts: Uint8Array;
  readonly sample: HubnessSample;
  readonly moments: readonly ProjectedMoments[];
  readonly basis: { readonly rank: number; readonly basis: Float32Array };
  readonly pairNull: PairNull;
  readonly work: Workplace;
  /** Of the fit that the null is of. */
  readonly fitDigest: string;
  readonly report: Report;
}

/** Told how many decoys of a phase are done. */
type Report = (phase: 'reversed' | 'decoys', done: number) => void;

/** Tail coordinates of one decoy with every protein of the sample, as a search with it would find them. */
async function decoyCoordinates(sequence: string, scoring: DecoyScoring): Promise<Float64Array> {
  const { options, targets, sample, moments, basis, pairNull } = scoring;
  const { backend, store, release, signal, threads } = options;
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const tokens = await encodeDecoy(sequence, options);
  const parameters = affineParameters(release, { sequence, tokens }, targets, scoring.texts);
  const { scores, ...sums } = await backend.measure(store, tokens, targets, parameters, { signal, threads });
  const own = proteinMoments(tokens, momentForm(release.manifest));
  const decoy = projectMoments(own, basis.basis, basis.rank);
  const shapes = moments.map((moment, index) => ({
    queryLength: tokens.length,
    targetLength: sample.lengths[index],
    ...momentsOfPair(decoy, moment),
  }));
  const meanClosestCosine = shapes.map(({ targetLength }, index) => {
    const found = { queryToTarget: sums.queryToTarget[index], targetToQuery: sums.targetToQuery[index] };
    return 1 - maxsimDistances(found, tokens.length, targetLength, inverseStep).bidirectional;
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
  const place = (index: number, affineScore: number): number => {
    const pair = { ...shapes[index], ...hubnessesOf(decoyHubness, sample.hubnesses[index]) };
    return tailCoordinate(pairNull, pair, { affineScore, meanClosestCosine: meanClosestCosine[index] });
  };
  const coordinates = Float64Array.from(shapes, (_, index) => place(index, scores[index]));
  const highScoring = Uint32Array.from(shapes.keys()).filter(
    (index) => coordinates[index] > CHANCE_COORDINATE,
  );
  if (highScoring.length === 0) return coordinates;
  const others = highScoring.map((index) => targets[index]);
  const found = await controlScores({ sequence, tokens }, others, options, { signal, threads });
  highScoring.forEach((index, at) => {
    coordinates[index] = controlledCoordinate(coordinates[index], place(index, found[at]));
  });
  return coordinates;
}

/** A decoy has no relatives, whatever its target has. */
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
 * Coordinates of each decoy with the whole sample.
 * @param name  of the phase that keeps them
 */
export async function eachDecoy(
  name: string,
  sequences: readonly string[],
  scoring: DecoyScoring,
  take: (coordinates: Float64Array, index: number) => void,
  report: (done: number) => void,
): Promise<void> {
  const { work, fitDigest } = scoring;
  await runPhase(work, {
    name,
    inputs: { fit: fitDigest, sequences: canonicalSha256(sequences) },
    stepCount: sequences.length,
    step: (index) => decoyCoordinates(sequences[index], scoring),
    take: (record, index) => take(new Float64Array(record), index),
    report,
  });
}

/** For each sampled protein the coordinates of its reversed sequence with the whole sample. */
export async function reversedCoordinates(scoring: DecoyScoring): Promise<readonly Float64Array[]> {
  const { options, targets, report } = scoring;
  const sequences = Array.from(targets, (target) => reversed(options.release.targets.sequence(target)));
  const rows: Float64Array[] = [];
  const take = (row: Float64Array): unknown => rows.push(row);
  await eachDecoy('reversed', sequences, scoring, take, (done) => report('reversed', done));
  return rows;
}
