import {
  PROFILE_MEAN_SIZE,
  PROFILE_SECOND_SIZE,
  momentForm,
  projectMoments,
  proteinMoments,
  type MomentTable,
  type ProfileTable,
  type ProjectedMoments,
  type ProteinMoments,
} from '../significance/moments.js';
import { sha256Hex } from '../canonical.js';
import type { Random } from '../random.js';
import type { Release } from '../release/release.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import { measureTargets } from './checkpoints.js';
import type { MeasureAccess } from './options.js';
import { leadingDirections } from './statistics/leading-directions.js';

/**
 * Length of a sketch. On SCOPe domains 64 components preserve 99 % of the variance of cosine spreads; 32 preserve 97 %.
 */
const RANK = 64;
/**
 * Upper bound of the proteins that determine the basis. It is large enough to include membrane and metal-binding ones.
 */
const BASIS_PROTEINS = 1_500;

/**
 * Reads the moments of every sampled target, in order.
 * Shape   targets [sample size]
 * Unit    target indices
 * Range   0..targets of the release − 1
 * Errors  those of the token reader
 */
export async function readSampleMoments(
  release: Release,
  reader: TokenReader,
  targets: Uint32Array,
): Promise<readonly ProteinMoments[]> {
  const moments: ProteinMoments[] = [];
  const form = momentForm(release.manifest);
  for (const target of targets) moments.push(proteinMoments(await reader.read(target), form));
  return moments;
}

/** Computes the basis of the sketches: the leading right singular vectors of the second moments. */
export function momentBasis(moments: readonly ProteinMoments[], random: Random): MomentBasis {
  const stride = Math.ceil(moments.length / BASIS_PROTEINS);
  const chosen = moments.filter((_, index) => index % stride === 0).map(({ second }) => second);
  const directions = leadingDirections(chosen, RANK, random);
  const basis = new Float32Array(directions.length * chosen[0].length);
  directions.forEach((direction, component) => basis.set(direction, component * direction.length));
  return { rank: directions.length, basis, digest: sha256Hex(new Uint8Array(basis.buffer)) };
}

/** Basis of the moment sketches. */
export interface MomentBasis {
  readonly rank: number;
  /** [rank × dimension × (dimension + 1) ÷ 2], row-major, orthonormal rows. */
  readonly basis: Float32Array;
  /** SHA-256 of the basis. */
  readonly digest: string;
}

/**
 * Computes means and sketches of every target of the release.
 * Errors  those of the token reader; the signal's reason between two targets; those of the file system
 * Cost    linear in the release's residues
 */
export async function measureMoments(
  access: MeasureAccess,
  { rank, basis, digest }: MomentBasis,
  onTargets: (done: number) => void,
): Promise<MomentTable> {
  const { release } = access;
  const form = momentForm(release.manifest);
  const { dimension, profileScale } = form;
  const { count } = release.targets;
  const means = new Float32Array(count * dimension);
  const sketches = new Float32Array(count * rank);
  const profiles = profileScale === undefined ? undefined : emptyProfiles(count);
  const columns = [
    { all: means, width: dimension },
    { all: sketches, width: rank },
    ...(profiles === undefined
      ? []
      : [
          { all: profiles.means, width: PROFILE_MEAN_SIZE },
          { all: profiles.seconds, width: PROFILE_SECOND_SIZE },
          { all: profiles.logEffective, width: 1 },
        ]),
  ];
  await measureTargets(access, {
    name: 'moments',
    inputs: digest,
    targetCount: count,
    width: columns.reduce((sum, { width }) => sum + width, 0),
    measure: (tokens) => rowOf(projectMoments(proteinMoments(tokens, form), basis, rank)),
    take(row, target) {
      let at = 0;
      for (const { all, width } of columns) {
        all.set(row.subarray(at, at + width), target * width);
        at += width;
      }
    },
    report: onTargets,
  });
  return { dimension, rank, means, sketches, basis, profiles };
}

/** Returns the values of a protein in the order of the table's columns. */
function rowOf({ mean, sketch, profile }: ProjectedMoments): readonly number[] {
  const profileValues =
    profile === undefined ? [] : [...profile.mean, ...profile.second, profile.logEffective];
  return [...mean, ...sketch, ...profileValues];
}

function emptyProfiles(count: number): ProfileTable {
  return {
    means: new Float32Array(count * PROFILE_MEAN_SIZE),
    seconds: new Float32Array(count * PROFILE_SECOND_SIZE),
    logEffective: new Float32Array(count),
  };
}
