import type { QueryTokens } from '../kernels/kernels.js';
import type { SelectedHomologSet } from './finder.js';
import { profileTokens, type ProfileTokenForm, type ProfileTokens } from './tokens.js';

/** What is asked of an encoder (encoder/encoder.ts). */
interface VectorEncoder {
  encode(
    sequences: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly QueryTokens[]>;
}

/**
 * Tokens of each protein as its family has them, in order.
 * Cost    the encoder's, for the proteins and those averaged relatives whose vectors are not at hand
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
