import type { FeatureTokens } from '../../encoder/features.js';
import { Fault, Refusal } from '../../errors.js';
import type { QueryTokens } from '../../kernels/kernels.js';
import type { SpooledProtein } from '../protein-spool.js';

/** Precomputed features of residues, by protein id. */
export interface Embeddings {
  /** SHA-256 of the content. */
  readonly digest: string;
  /** Shape of a protein's embedding; undefined if there is none. Errors  Refusal `invalid_embeddings` */
  shapeOf(id: string): EmbeddingShape | undefined;
  /** float32 [residues × features], row-major, of a protein with a shape. Errors  Refusal `invalid_embeddings` */
  read(id: string): Float32Array;
  close(): void;
}

export interface EmbeddingShape {
  readonly residues: number;
  readonly features: number;
}

/** Embeddings, and the projection that turns them into tokens of an encoder. */
export interface GivenEmbeddings {
  readonly embeddings: Embeddings;
  readonly project: FeatureTokens;
}

/** Returns the tokens of a protein from its embedding. Errors  Refusal `invalid_embeddings` */
export function embeddedTokens(
  { id, sequence }: Pick<SpooledProtein, 'id' | 'sequence'>,
  { embeddings, project }: GivenEmbeddings,
): QueryTokens {
  try {
    return { values: project.tokens(embeddings.read(id)), length: sequence.length };
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    throw new Refusal('invalid_embeddings', `The embedding of ${id} has numbers that are not finite.`, {
      id,
    });
  }
}
