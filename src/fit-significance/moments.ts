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
import { runPhase, type Workplace } from './checkpoints.js';
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
export function momentBasis(moments: readonly ProteinMoments[], random: Random): MomentBasis {
  const stride = Math.ceil(moments.length / BASIS_PROTEINS);
  const chosen = moments.filter((_, index) => index % stride === 0).map(({ second }) => second);
  const directions = leadingDirections(chosen, RANK, random);
  const basis = new Float32Array(directions.length * chosen[0].length);
  directions.forEach((direction, component) => basis.set(direction, component * direction.length));
  return { rank: directions.length, basis, digest: sha256Hex(new Uint8Array(basis.buffer)) };
}

/** Directions that sketches are made in. */
export interface MomentBasis {
  readonly rank: number;
  readonly basis: Float32Array;
  readonly digest: string;
}

/** Targets between two records. */
const STEP_TARGETS = 256;

/** Means and sketches of every target. Cost: linear in the release's residues. */
export async function measureMoments(
  release: Release,
  reader: TokenReader,
  { rank, basis, digest }: MomentBasis,
  work: Workplace,
  onTargets: (done: number) => void,
  signal?: AbortSignal,
): Promise<MomentTable> {
  const { dimension, profileScale } = momentForm(release.manifest);
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
  const rowWidth = columns.reduce((sum, { width }) => sum + width, 0);
  await runPhase(work, {
    name: 'moments',
    inputs: digest,
    stepCount: Math.ceil(count / STEP_TARGETS),
    async step(index) {
      const start = index * STEP_TARGETS;
      const rows = new Float32Array(Math.min(STEP_TARGETS, count - start) * rowWidth);
      for (let target = start, at = 0; at < rows.length; target += 1, at += rowWidth) {
        signal?.throwIfAborted();
        const own = projectMoments(await readMoments(release, reader, target), basis, rank);
        rows.set(rowOf(own), at);
      }
      return rows;
    },
    take(record, index) {
      const rows = new Float32Array(record);
      let target = index * STEP_TARGETS;
      for (let at = 0; at < rows.length; target += 1) {
        for (const { all, width } of columns) {
          all.set(rows.subarray(at, at + width), target * width);
          at += width;
        }
      }
    },
    report: (steps) => onTargets(Math.min(count, steps * STEP_TARGETS)),
  });
  return { dimension, rank, means, sketches, basis, profiles };
}

/** What the table has of a protein, in the order of its columns. */
function rowOf({ mean, sketch, profile }: ProjectedMoments): readonly number[] {
  const ofProfile = profile === undefined ? [] : [...profile.mean, ...profile.second, profile.logEffective];
  return [...mean, ...sketch, ...ofProfile];
}

function emptyProfiles(count: number): ProfileTable {
  return {
    means: new Float32Array(count * PROFILE_MEAN_SIZE),
    seconds: new Float32Array(count * PROFILE_SECOND_SIZE),
    logEffective: new Float32Array(count),
  };
}
