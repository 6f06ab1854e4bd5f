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
 * Cost    one encoding of each distinct protein, and of each distinct averaged homolog without given vectors
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
  // Proteins of one family share homologs: an eighth of the residues of 100 neighbours in a file of domains.
  const distinct = [...new Set(sequences)];
  const tokens = await encoder.encode(distinct, options);
  const places = new Map(distinct.map((sequence, place) => [sequence, place]));
  const encoded = sequences.map((sequence) => tokens[places.get(sequence)!]);
  let next = 0;
  return homologSets.map((homologSet) => {
    const { sequence, averaged, vectors } = homologSet;
    const own = encoded[next++];
    const others = vectors ?? encoded.slice(next, (next += averaged.length));
    return profileTokens(homologSet, { sequence, homologs: averaged }, [own, ...others], form);
  });
}
