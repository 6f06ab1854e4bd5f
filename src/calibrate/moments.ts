import {
  PROFILE_MEAN_SIZE,
  PROFILE_SECOND_SIZE,
  momentForm,
  projectMoments,
  proteinMoments,
  type MomentTable,
  type ProteinMoments,
} from '../calibration/moments.js';
import type { Random } from '../random.js';
import type { Release } from '../release/release.js';
import type { TokenReader } from './tokens.js';
import { leadingDirections } from './statistics/leading-directions.js';

/** Sketch length: on SCOPe domains 64 coordinates keep 99 % of how pairs differ in spread; 32 keep 97 %. */
const RANK = 64;
/** Proteins that the basis is taken from: enough that rare kinds (membrane, metal-binding) are among them. */
const BASIS_PROTEINS = 1_500;

export async function readMoments(
  release: Release,
  reader: TokenReader,
  target: number,
): Promise<ProteinMoments> {
  return proteinMoments(await reader.read(target), momentForm(release.manifest));
}

/** Directions of second moments that a sketch keeps. Shape: [rank × dimension × (dimension + 1) ÷ 2]. */
export function momentBasis(
  moments: readonly ProteinMoments[],
  random: Random,
): { rank: number; basis: Float32Array } {
  const stride = Math.ceil(moments.length / BASIS_PROTEINS);
  const chosen = moments.filter((_, index) => index % stride === 0).map(({ second }) => second);
  const directions = leadingDirections(chosen, RANK, random);
  const basis = new Float32Array(directions.length * chosen[0].length);
  directions.forEach((direction, component) => basis.set(direction, component * direction.length));
  return { rank: directions.length, basis };
}

/** Means and sketches of every target. Cost: linear in the release's residues. */
export async function measureMoments(
  release: Release,
  reader: TokenReader,
  { rank, basis }: { readonly rank: number; readonly basis: Float32Array },
  onTargets: (done: number) => void,
  signal?: AbortSignal,
): Promise<MomentTable> {
  const { dimension, profileScale } = momentForm(release.manifest);
  const count = release.targets.count;
  const means = new Float32Array(count * dimension);
  const sketches = new Float32Array(count * rank);
  const profiles =
    profileScale === undefined
      ? undefined
      : {
          means: new Float32Array(count * PROFILE_MEAN_SIZE),
          seconds: new Float32Array(count * PROFILE_SECOND_SIZE),
        };
  for (let target = 0; target < count; target += 1) {
    signal?.throwIfAborted();
    const { mean, sketch, profile } = projectMoments(await readMoments(release, reader, target), basis, rank);
    means.set(mean, target * dimension);
    sketches.set(sketch, target * rank);
    if (profile !== undefined) {
      profiles?.means.set(profile.mean, target * PROFILE_MEAN_SIZE);
      profiles?.seconds.set(profile.second, target * PROFILE_SECOND_SIZE);
    }
    onTargets(target + 1);
  }
  return { dimension, rank, means, sketches, basis, profiles };
}
