import type { Encoder } from '../../encoder/encoder.js';
import { plainTokens, type BuiltTokens, type ProteinTokens } from '../protein-tokens.js';
import { embeddedTokens, type GivenEmbeddings } from './embeddings.js';

/** Returns a token source that uses precomputed embeddings, and encodes proteins without one. */
export function givenTokens(encoder: Encoder, embeddings: GivenEmbeddings): ProteinTokens {
  const plain = plainTokens(encoder);
  return {
    ...plain,
    async encode(proteins, signal): Promise<readonly BuiltTokens[]> {
      const missing = proteins.filter(({ id }) => embeddings.embeddings.shapeOf(id) === undefined);
      const encoded = await plain.encode(missing, signal);
      const encodedOf = new Map(missing.map(({ id }, at) => [id, encoded[at]]));
      return proteins.map(
        (protein) =>
          encodedOf.get(protein.id) ?? { tokens: embeddedTokens(protein, embeddings), relatives: 0 },
      );
    },
  };
}
