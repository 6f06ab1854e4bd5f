import type { QueryTokens } from '../kernels/kernels.js';
import type { SelectedFamily } from './finder.js';
import { familyTokens, type FamilyTokenForm, type FamilyTokens } from './tokens.js';

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
export async function encodeFamilies(
  encoder: VectorEncoder,
  families: readonly SelectedFamily[],
  form: FamilyTokenForm,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly FamilyTokens[]> {
  const sequences = families.flatMap(({ sequence, averaged, vectors }) =>
    vectors === undefined ? [sequence, ...averaged.map(({ residues }) => residues)] : [sequence],
  );
  const encoded = await encoder.encode(sequences, options);
  let next = 0;
  return families.map((family) => {
    const { sequence, averaged, vectors } = family;
    const own = encoded[next++];
    const others = vectors ?? encoded.slice(next, (next += averaged.length));
    return familyTokens(family, { sequence, homologs: averaged }, [own, ...others], form);
  });
}
