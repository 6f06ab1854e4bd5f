import { TOKEN_DIMENSIONS, TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import type { ProfileTokenForm } from './tokens.js';

/** Measured: a share of a quarter finds more homologs, and a share of a half ruins the MaxSim ranking. */
const PROFILE_SHARE = 0.25;

/** Members of a release manifest that state the form of its tokens. */
interface ManifestForm {
  readonly relatives?: { readonly encoder_dimension: number; readonly profile_share: number };
  readonly encoder: { readonly dimension: number; readonly inverse_step: number };
  readonly affine: { readonly profile?: { readonly scale: number } };
}

/**
 * Form of the tokens of a release whose targets have homologs; undefined if they have none.
 * @param profileScale  of a manifest that states none
 */
export function profileTokenFormOf(
  { relatives: homologs, encoder: { dimension, inverse_step: inverseStep }, affine }: ManifestForm,
  profileScale: number,
): ProfileTokenForm | undefined {
  if (homologs === undefined) return undefined;
  return {
    encoderDimension: homologs.encoder_dimension,
    dimension,
    inverseStep,
    profileShare: homologs.profile_share,
    profileScale: affine.profile?.scale ?? profileScale,
  };
}

/** Form of profile tokens with an encoder: its vectors, and the profile beside them if the longest token has room. */
export function profileTokenForm(
  { dimension, inverse_step: inverseStep }: { readonly dimension: number; readonly inverse_step: number },
  profileScale: number,
): ProfileTokenForm {
  const plain = { encoderDimension: dimension, dimension, inverseStep, profileShare: 0, profileScale };
  const longer = TOKEN_DIMENSIONS.find((candidate) => candidate >= dimension + AMINO_ACIDS.length);
  // Quantised rows must keep the bound on squared norms, so that dot products fit in int16.
  if (longer === undefined || inverseStep > Math.sqrt(TOKEN_MAX_SQUARED_NORM) - Math.sqrt(longer) / 2)
    return plain;
  return { ...plain, dimension: longer, profileShare: PROFILE_SHARE };
}
