import type { ProfileTokenForm } from '../homologs/tokens.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import type { ReleaseManifest } from '../release/release.js';

/** The form of the tokens of a release whose targets have relatives; undefined where they have none. */
export function profileTokenFormOf({
  relatives: homologs,
  encoder: { dimension, inverse_step: inverseStep },
  affine,
}: ReleaseManifest): ProfileTokenForm | undefined {
  if (homologs === undefined) return undefined;
  return {
    encoderDimension: homologs.encoder_dimension,
    dimension,
    inverseStep,
    profileShare: homologs.profile_share,
    profileScale: affine.profile?.scale ?? PROFILE_SCALE,
  };
}
