import type { FeatureTokens } from '../../encoder/features.js';
import { Fault, Refusal } from '../../errors.js';
import type { QueryTokens } from '../../kernels/kernels.js';
import type { SpooledProtein } from '../protein-spool.js';

/** Features of residues that a model gave elsewhere, by protein id. */
export interface Embeddings {
  /** SHA-256 of what is in them. */
  readonly digest: string;
  /** Undefined where there is none of this protein. Errors  Refusal `invalid_embeddings` */
  shapeOf(id: string): EmbeddingShape | undefined;
  /** Row-major [residues × features] of a protein that has a shape. Errors  Refusal `invalid_embeddings` */
  read(id: string): Float32Array;
  close(): void;
}

export interface EmbeddingShape {
  readonly residues: number;
  readonly features: number;
}

/** Embeddings, and how they become the tokens of an encoder. */
export interface GivenEmbeddings {
  readonly embeddings: Embeddings;
  readonly project: FeatureTokens;
}

/** Errors  Refusal `invalid_embeddings` */
export function embeddedTokens(
  { id, sequence }: Pick<SpooledProtein, 'id' | 'sequence'>,
  { embeddings, project }: GivenEmbeddings,
): QueryTokens {
  try {
    return { values: project.tokens(embeddings.read(id)), length: sequence.length };
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    throw new Refusal('invalid_embeddings', `The embedding of ${id} holds numbers that are not finite.`, {
      id,
    });
  }
}
