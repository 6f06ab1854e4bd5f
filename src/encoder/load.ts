import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';
import type { ApplianceConfig } from '../config.js';
import { assert } from '../errors.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { quantise } from '../kernels/quantise.js';
import { PROTEIN_MAX_RESIDUES } from '../limits.js';
import { memoryOfProcess } from '../processes.js';
import { readEncoderCard, verifyEncoderFiles } from './card.js';
import { holdAgainstCpu } from './compare.js';
import type { EncoderDevice } from './model.js';
import { startEncodePool, type EncodePool, type PoolTask } from './pool.js';
import { fadeVectors } from './vectors.js';
import { startEncodeThread } from './thread.js';
import { planWindows } from './windows.js';
import type { EncodedWindow } from './worker.js';
import type { EncodeOptions, Encoder, EncoderCard } from './encoder.js';

export interface LoadEncoderOptions {
  /**
   * Worker threads at most, each with the model in memory; fewer where their models would take more than half
   * of the machine's. The tokens do not depend on it.
   * Minimum  1
   * Default  the machine's cores; 1 on cuda
   */
  readonly threads?: number;
  /** Default `cpu`. */
  readonly device?: EncoderDevice;
  /** Serves a device whose tokens differ from the CPU's, and says so in Encoder.differenceFromCpu. Default false. */
  readonly acceptsDifference?: boolean;
}

/** Returns the options of encoders from the settings of an appliance. */
export function encoderOptionsOf({
  threads,
  encoderDevice,
  onEncoderDifference,
}: Pick<ApplianceConfig, 'threads' | 'encoderDevice' | 'onEncoderDifference'>): LoadEncoderOptions {
  return { threads, device: encoderDevice, acceptsDifference: onEncoderDifference === 'accept' };
}

/**
 * Loads an encoder from its folder: checks the card and the digests of its files, and starts its workers.
 * A protein's tokens depend only on the protein, the encoder and the device. Each stretch is one model run in a
 * single-threaded session (reasons in model.ts), so other proteins, order and threads change nothing.
 * A device other than the CPU is first compared with the CPU, because tokens determine results.
 * Errors  Refusal `invalid_encoder_card` where card or files are wrong; Fault where the model or device
 *         cannot be used, or gives other tokens than the CPU
 */
export async function loadEncoder(directory: string, options: LoadEncoderOptions = {}): Promise<Encoder> {
  const { device = 'cpu' } = options;
  const threads = options.threads ?? (device === 'cpu' ? availableParallelism() : 1);
  assert(Number.isInteger(threads) && threads >= 1, 'an encoder needs a thread');
  const card = await readEncoderCard(directory);
  await verifyEncoderFiles(directory, card);
  const count = Math.min(threads, await affordableThreads(directory, card));
  // TF32 keeps ten bits of a factor, and the runtime's own switch cannot be reached from Node. NVIDIA's libraries read
  // this when they are loaded.
  if (device === 'cuda') process.env.NVIDIA_TF32_OVERRIDE ??= '0';
  const pool = await startEncodePool(() => startEncodeThread({ directory, card, device }), count);
  const encoder: Encoder = {
    card,
    digest: canonicalSha256(card),
    device,
    encode: (sequences, encodeOptions) => encode(pool, card, sequences, encodeOptions),
    close: () => pool.close(),
  };
  return device === 'cpu' ? encoder : checkDevice(encoder, directory, options);
}

async function checkDevice(
  encoder: Encoder,
  directory: string,
  { acceptsDifference = false }: LoadEncoderOptions,
): Promise<Encoder> {
  try {
    const cpu = await loadEncoder(directory);
    return await holdAgainstCpu(encoder, cpu, acceptsDifference).finally(() => cpu.close());
  } catch (error) {
    await encoder.close();
    throw error;
  }
}

async function affordableThreads(directory: string, { model }: EncoderCard): Promise<number> {
  const files = [model.file, ...(model.data === undefined ? [] : [model.data.file])];
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).size));
  const modelBytes = sizes.reduce((sum, size) => sum + size, 0);
  return Math.max(1, Math.floor(memoryOfProcess() / 2 / modelBytes));
}

async function encode(
  pool: EncodePool,
  card: EncoderCard,
  sequences: readonly string[],
  options: EncodeOptions = {},
): Promise<readonly QueryTokens[]> {
  const tokens = sequences.map(({ length }): QueryTokens => {
    assert(length >= 1 && length <= PROTEIN_MAX_RESIDUES, 'normalisation bounds the length of a protein');
    return { values: new Int8Array(length * card.dimension), length };
  });
  const tasks = sequences.flatMap((sequence, i) => proteinTasks(sequence, card, tokens[i].values));
  // The longest go first, so that no thread is left alone with a long one at the end.
  await pool.run(
    tasks.toSorted((a, b) => b.task.residues.length - a.task.residues.length),
    options.signal,
  );
  return tokens;
}

/** The model runs of one protein, which together fill its tokens, in whatever order they end. */
function proteinTasks(sequence: string, card: EncoderCard, values: Int8Array): readonly PoolTask[] {
  const { dimension, inverse_step: inverseStep } = card;
  const encoded: EncodedWindow[] = [];
  /** Fills what window i and the one before share, once both are there. */
  const fade = (i: number, atResidue: number): void => {
    const [before, after] = [encoded[i - 1], encoded[i]];
    if (before === undefined || after === undefined) return;
    const vectors = fadeVectors(before.fadeOut, after.fadeIn, dimension);
    values.set(quantise(vectors, dimension, inverseStep), atResidue * dimension);
  };
  return planWindows(sequence.length, card.window).map((window, i) => ({
    task: {
      residues: sequence.slice(window.start, window.end),
      keptStart: window.keptStart - window.start,
      keptEnd: window.keptEnd - window.start,
      fadeIn: window.fadeIn,
      fadeOut: window.fadeOut,
    },
    receive: (part) => {
      encoded[i] = part;
      values.set(part.tokens, (window.keptStart + window.fadeIn) * dimension);
      fade(i, window.keptStart);
      fade(i + 1, window.keptEnd - window.fadeOut);
    },
  }));
}
