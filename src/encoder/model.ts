import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { env, InferenceSession, Tensor } from 'onnxruntime-node';
import { Fault } from '../errors.js';
import { openByteEncoder } from '../kernels/encode.js';
import { MEBIBYTE_BYTES } from '../limits.js';
import { byteModelOf } from './byte-model.js';
import { readMatrix } from './features.js';
import { readOnnxGraph } from './onnx-graph.js';
import { unitVectors } from './vectors.js';
import type { EncoderCard } from './encoder.js';

// Whatever fails is thrown as well; ONNX Runtime shall not write to the terminal beside it.
env.logLevel = 'fatal';

export type EncoderDevice = 'cpu' | 'cuda';

/** One loaded model. Its runs block their thread: the server holds models in workers only. */
export interface EncoderModel {
  /** What computes it. */
  readonly engine: 'native' | 'onnxruntime';
  /**
   * Unit vectors of the residues of one stretch, special tokens cut off, float32 [length × card.dimension].
   * Errors  Fault where the model fails or its output has another shape than the card says
   */
  vectors(residues: string): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Features of a stretch's tokens, special ones included: [tokens × featureCount]. */
interface TokenFeatures {
  readonly rows: Float32Array;
  readonly featureCount: number;
}

/** Runs a model on the tokens of one stretch. */
type Run = (tokens: readonly number[]) => TokenFeatures | Promise<TokenFeatures>;

/** Models with more bytes are no encoders of int8 weights, and reading them twice takes time. */
const NATIVE_MAX_BYTES = 64 * MEBIBYTE_BYTES;

/**
 * Loads the model of a checked card. The native kernels run models that they know, where the machine has kernels for
 * them; ONNX Runtime runs all others. Both give the same bits.
 * Errors  Fault where the model or the device cannot be used; there is no fall-back to another device
 */
export async function openEncoderModel(
  directory: string,
  card: EncoderCard,
  device: EncoderDevice,
): Promise<EncoderModel> {
  const path = join(directory, card.model.file);
  const native = device === 'cpu' ? await openNative(path, card) : undefined;
  return native ?? openOnnx(path, card, device);
}

/** The model in the native kernels; undefined where they do not know it. */
async function openNative(path: string, card: EncoderCard): Promise<EncoderModel | undefined> {
  if (card.model.data !== undefined || (await stat(path)).size > NATIVE_MAX_BYTES) return undefined;
  const model = byteModelOf(readOnnxGraph(await readFile(path)), card);
  const encoder = model === undefined ? undefined : openByteEncoder(model);
  if (model === undefined || encoder === undefined) return undefined;
  const run: Run = (tokens) => ({
    rows: encoder.encode(Uint8Array.from(tokens)),
    featureCount: model.dimension,
  });
  const matrix = await projectionOf(dirname(path), card);
  return {
    engine: 'native',
    vectors: (residues) => residueVectors(run, card, matrix, residues),
    close: async () => undefined,
  };
}

/**
 * The model in ONNX Runtime.
 *
 * A session has one thread, and a run has one stretch, so that vectors depend only on the protein and the model. All
 * parallelism is between sessions. Measured with gloaming-1 on Zen 5: two threads in a session changed the last bits at
 * 4 of 16 lengths and did not halve the time. Batches, even of equal lengths, changed values by 1.5e-7 and were 18 %
 * faster.
 *
 * Memory patterns are disabled, because each length would add one. The arena keeps the memory of the longest stretch;
 * without it a transformer spends 70 % of its time at 1,022 residues on allocation.
 */
export async function openOnnx(
  path: string,
  card: EncoderCard,
  device: EncoderDevice,
): Promise<EncoderModel> {
  const session = await createSession(path, device);
  const matrix = await projectionOf(dirname(path), card);
  try {
    checkNames(session, card);
  } catch (error) {
    await session.release();
    throw error;
  }
  return {
    engine: 'onnxruntime',
    vectors: (residues) => residueVectors(onnxRun(session, card), card, matrix, residues),
    close: () => session.release(),
  };
}

async function projectionOf(
  directory: string,
  { projection }: EncoderCard,
): Promise<Float32Array | undefined> {
  return projection === null ? undefined : readMatrix(join(directory, projection.file));
}

async function createSession(path: string, device: EncoderDevice): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(path, {
      executionProviders: [device],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      enableMemPattern: false,
      logSeverityLevel: 4,
    });
  } catch (cause) {
    const hint = device === 'cuda' ? '; is the CUDA provider of onnxruntime-node installed?' : '';
    throw new Fault(`ONNX Runtime cannot load ${path} on ${device}: ${messageOf(cause)}${hint}`, { cause });
  }
}

function checkNames(session: InferenceSession, { inputs, output }: ModelInterface): void {
  const inputNames = [inputs.ids, ...(inputs.mask === null ? [] : [inputs.mask])];
  const isSame =
    inputNames.length === session.inputNames.length &&
    inputNames.every((n) => session.inputNames.includes(n));
  if (!isSame) {
    throw new Fault(
      `The card names the inputs ${inputNames.join(', ')}, the model has ${session.inputNames.join(', ')}.`,
    );
  }
  if (!session.outputNames.includes(output)) {
    throw new Fault(`The card names the output ${output}, the model has ${session.outputNames.join(', ')}.`);
  }
}

async function residueVectors(
  run: Run,
  card: EncoderCard,
  matrix: Float32Array | undefined,
  residues: string,
): Promise<Float32Array> {
  const { rows, featureCount } = await residueFeatures(run, card.tokenizer, residues);
  const expected = card.projection?.input_dimension ?? card.dimension;
  if (featureCount !== expected) {
    throw new Fault(`The model gives ${featureCount} features where the card expects ${expected}.`);
  }
  return unitVectors(rows, featureCount, card.dimension, matrix);
}

/** How a model is fed and read; the part of a card that is needed before its features are known. */
export type ModelInterface = Pick<EncoderCard, 'inputs' | 'output' | 'tokenizer'>;

/**
 * Features per residue of a model whose card is not complete yet.
 * Errors  Fault where the model cannot be loaded or run
 */
export async function countFeatures(path: string, model: ModelInterface, residues: string): Promise<number> {
  const session = await createSession(path, 'cpu');
  try {
    checkNames(session, model);
    return (await residueFeatures(onnxRun(session, model), model.tokenizer, residues)).featureCount;
  } finally {
    await session.release();
  }
}

/** Runs the model on one stretch: its features [length × featureCount], special tokens cut off. */
async function residueFeatures(
  run: Run,
  tokenizer: EncoderCard['tokenizer'],
  residues: string,
): Promise<TokenFeatures> {
  const { rows, featureCount } = await run(tokenise(residues, tokenizer));
  const first = tokenizer.prefix.length * featureCount;
  return { rows: rows.subarray(first, first + residues.length * featureCount), featureCount };
}

/** Runs a session on one stretch of tokens. */
function onnxRun(session: InferenceSession, { inputs, output: outputName }: ModelInterface): Run {
  return async (tokens) => {
    const { length: count } = tokens;
    const dims = [1, count];
    const feeds: Record<string, Tensor> = {
      [inputs.ids]: new Tensor('int64', BigInt64Array.from(tokens, BigInt), dims),
    };
    if (inputs.mask !== null)
      feeds[inputs.mask] = new Tensor('int64', new BigInt64Array(count).fill(1n), dims);
    const { [outputName]: output } = await session.run(feeds, [outputName]);
    const [batch, length, featureCount] = output.dims;
    if (output.type !== 'float32' || output.dims.length !== 3 || batch !== 1 || length !== count) {
      const actual = `${output.type} [${output.dims.join(', ')}]`;
      throw new Fault(`The model gave ${actual} where float32 [1, ${count}, features] was expected.`);
    }
    return { rows: output.data as Float32Array, featureCount };
  };
}

/** Token ids of a stretch with the model's special tokens around it. */
function tokenise(residues: string, tokenizer: EncoderCard['tokenizer']): number[] {
  const { vocabulary, unknown, prefix, suffix } = tokenizer;
  const letters = Array.from(residues, (letter) => vocabulary[letter] ?? unknown);
  return [...prefix, ...letters, ...suffix];
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
