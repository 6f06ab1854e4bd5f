import type { QueryTokens } from '../kernels/kernels.js';
import type { SelectedHomologSet } from './finder.js';
import { profileTokens, type ProfileTokenForm, type ProfileTokens } from './tokens.js';

/** The part of an encoder (encoder/encoder.ts) that is needed here. */
interface VectorEncoder {
  encode(
    sequences: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly QueryTokens[]>;
}

/**
 * Returns the profile tokens of each homolog set, in order.
 * Errors  those of the encoder, including the signal's reason; Fault where an alignment runs past its sequences
 * Cost    one encoding of each protein, and of each averaged homolog without given vectors
 */
export async function encodeHomologSets(
  encoder: VectorEncoder,
  homologSets: readonly SelectedHomologSet[],
  form: ProfileTokenForm,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly ProfileTokens[]> {
  const sequences = homologSets.flatMap(({ sequence, averaged, vectors }) =>
    vectors === undefined ? [sequence, ...averaged.map(({ residues }) => residues)] : [sequence],
  );
  const encoded = await encoder.encode(sequences, options);
  let next = 0;
  return homologSets.map((homologSet) => {
    const { sequence, averaged, vectors } = homologSet;
    const own = encoded[next++];
    const others = vectors ?? encoded.slice(next, (next += averaged.length));
    return profileTokens(homologSet, { sequence, homologs: averaged }, [own, ...others], form);
  });
}
