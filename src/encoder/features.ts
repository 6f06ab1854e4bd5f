import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quantise } from '../kernels/quantise.js';
import type { EncoderCard } from './encoder.js';
import { unitVectors } from './vectors.js';

/** Makes tokens of a model's features that were computed elsewhere. */
export interface FeatureTokens {
  /** Features of a residue. */
  readonly width: number;
  /**
   * Projected, scaled and quantised as the card says, as if the model had just given them.
   * Shape   features [length × width]; tokens [length × card.dimension]
   * Errors  Fault where a feature is not finite
   */
  tokens(features: Float32Array): Int8Array;
}

export async function openFeatureTokens(directory: string, card: EncoderCard): Promise<FeatureTokens> {
  const { projection, dimension, inverse_step: inverseStep } = card;
  const matrix = projection === null ? undefined : await readMatrix(join(directory, projection.file));
  const width = projection?.input_dimension ?? dimension;
  return {
    width,
    tokens: (features) => quantise(unitVectors(features, width, dimension, matrix), dimension, inverseStep),
  };
}

/** A card's projection: float32 little-endian, copied into an aligned buffer. */
export async function readMatrix(path: string): Promise<Float32Array> {
  const bytes = await readFile(path);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}
