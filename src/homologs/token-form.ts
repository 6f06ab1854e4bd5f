import { TOKEN_DIMENSIONS, TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import type { ProfileTokenForm } from './tokens.js';

/** Measured: a share of a quarter finds more homologs, and a share of a half ruins the MaxSim ranking. */
const PROFILE_SHARE = 0.25;

/**
 * Returns the form of profile tokens for an encoder: its vectors, followed by the profile's log odds where a supported
 * token dimension has room for them.
 */
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
