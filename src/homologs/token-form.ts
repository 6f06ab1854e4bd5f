import { TOKEN_DIMENSIONS, TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import type { ProfileTokenForm } from './tokens.js';

/** A quarter finds more; a half destroys MaxSim. */
const PROFILE_SHARE = 0.25;

/**
 * The form of families' tokens with an encoder: its vectors, and the profile beside them where the longest token has
 * room for it.
 */
export function profileTokenForm(
  { dimension, inverse_step: inverseStep }: { readonly dimension: number; readonly inverse_step: number },
  profileScale: number,
): ProfileTokenForm {
  const plain = { encoderDimension: dimension, dimension, inverseStep, profileShare: 0, profileScale };
  const longer = TOKEN_DIMENSIONS.find((one) => one >= dimension + AMINO_ACIDS.length);
  // The bound of an encoder's card, which keeps dot products within int16.
  if (longer === undefined || inverseStep > Math.sqrt(TOKEN_MAX_SQUARED_NORM) - Math.sqrt(longer) / 2)
    return plain;
  return { ...plain, dimension: longer, profileShare: PROFILE_SHARE };
}
