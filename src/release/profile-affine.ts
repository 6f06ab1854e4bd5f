import type { ProfileAffineManifest, ReleaseManifest } from './release.js';

/** With it no profile of observed frequencies outgrows a squared norm of 32,767, and few of its values a byte. */
export const PROFILE_SCALE = 16;

/** Affine parameters of profile tokens, in units of score. A cosine of 1 scores 80. */
interface ProfilePoints {
  /** One nat of Σ q p ÷ background. */
  readonly nat: number;
  /** Subtracted from every pair. */
  readonly offset: number;
  readonly gapOpen: number;
  readonly gapExtend: number;
}

const PER_COSINE = 80;

/*
 * The best of fifteen choices on 400 dev domains with one round of homologs and 400 candidates to rescore. It found
 * .758 / .206 of family and superfamily pairs before the first false one, and .211 at one error per query. Letters in
 * place of profiles give .721 / .170 / .131. Others (offset, nat, gap): 50, 38, 60 .749 / .213 / .207; 38, 30, 60 .744
 * / .208 / .180.
 */
const SCORED: ProfilePoints = { nat: 30, offset: 46, gapOpen: 52, gapExtend: 5 };

/** For paths (path-affine.ts): profiles weigh less, and gaps cost more. */
const ALIGNED: ProfilePoints = { nat: 12, offset: 35, gapOpen: 77, gapExtend: 5 };

/** The linear logarithm of the kernels lies up to .086 octaves below the true one: half of it, to centre the error. */
const LOG_CENTRE_OCTAVES = 0.043;

/**
 * Affine parameters of a release with profiles, from those of its encoder: the same points for a cosine, the others in
 * proportion. Unrelated residues (Σ q p ÷ background = 1) score nothing by their profiles.
 */
export function profileAffine(
  affine: Pick<ReleaseManifest['affine'], 'multiplier'>,
  inverseStep: number,
): ProfileAffineManifest {
  return parametersOf(SCORED, affine, inverseStep);
}

/** Parameters of the paths of such a release. */
export function profilePathAffine(
  affine: Pick<ReleaseManifest['affine'], 'multiplier'>,
  inverseStep: number,
): ProfileAffineManifest {
  return parametersOf(ALIGNED, affine, inverseStep);
}

function parametersOf(
  { nat, offset, gapOpen, gapExtend }: ProfilePoints,
  { multiplier }: Pick<ReleaseManifest['affine'], 'multiplier'>,
  inverseStep: number,
): ProfileAffineManifest {
  const points = (multiplier * inverseStep ** 2) / 65_536 / PER_COSINE;
  const octave = nat * points * Math.LN2;
  const zero = octave * (Math.log2((PROFILE_SCALE ** 2 + 1) / 2) - LOG_CENTRE_OCTAVES);
  return {
    scale: PROFILE_SCALE,
    weight: Math.round(64 * octave),
    multiplier,
    offset: Math.round(offset * points + zero),
    gap_open: Math.round(gapOpen * points),
    gap_extend: Math.round(gapExtend * points),
  };
}
