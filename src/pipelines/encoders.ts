import { addEncoder } from '../build-release/encoders/add-encoder.js';
import type { ApplianceConfig } from '../config.js';
import { compareTokens } from '../encoder/compare.js';
import type { TokenComparison } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { loadEncoder } from '../encoder/load.js';
import type { EncoderDevice } from '../encoder/model.js';
import type { NamedQuery } from '../search/search-types.js';

export { listEncoders, listVerifiedEncoders, type ListedEncoder } from '../encoder/find.js';
export type { EncoderDevice } from '../encoder/model.js';
export type { TokenComparison } from '../encoder/encoder.js';

export interface ModelFiles {
  /** Absolute path of the ONNX file. */
  readonly modelPath: string;
  /** Absolute path of the card; digests are filled in. */
  readonly cardPath: string;
  /** Components of a random projection that is made for the model; absent without a projection. */
  readonly projectionDimension?: number;
}

export interface InstalledEncoder {
  readonly id: string;
  readonly directory: string;
  readonly dimension: number;
  /** Residues per second and core. */
  readonly residuesPerSecond: number;
}

/**
 * Checks a model and installs it into the indexes folder.
 * Errors  those of addEncoder
 */
export async function installEncoder(
  files: ModelFiles,
  { indexesFolder }: Pick<ApplianceConfig, 'indexesFolder'>,
): Promise<InstalledEncoder> {
  const { card, directory, residuesPerSecond } = await addEncoder({ ...files, indexesFolder });
  return { id: card.id, directory, dimension: card.dimension, residuesPerSecond };
}

export interface CompareOptions {
  /** Default: the encoder of new releases. */
  readonly encoder?: string;
  readonly device: EncoderDevice;
  /** Proteins at most, from the first on. 1.. */
  readonly proteins: number;
}

/**
 * Encodes proteins on the CPU and on another device and compares their tokens.
 * Errors  Refusal where the encoder is not installed; Fault where an encoder fails; those of the queries
 */
export async function compareEncoders(
  queries: AsyncIterable<NamedQuery>,
  { encoder, device, proteins }: CompareOptions,
  config: ApplianceConfig,
): Promise<{ readonly encoder: string; readonly comparison: TokenComparison }> {
  const directory = await findEncoder(encoder ?? config.encoder, config);
  const { threads } = config;
  const cpu = await loadEncoder(directory, { threads });
  try {
    const other = await loadEncoder(directory, { threads, device, acceptsDifference: true });
    try {
      const comparison = await compareTokens(cpu, other, firstSequences(queries, proteins));
      return { encoder: cpu.card.id, comparison };
    } finally {
      await other.close();
    }
  } finally {
    await cpu.close();
  }
}

async function* firstSequences(queries: AsyncIterable<NamedQuery>, count: number): AsyncGenerator<string> {
  let left = count;
  for await (const { sequence } of queries) {
    yield sequence;
    left -= 1;
    if (left === 0) return;
  }
}
