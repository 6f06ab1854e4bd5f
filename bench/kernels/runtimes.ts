import { InferenceSession, Tensor } from 'onnxruntime-node';
import { writeOnnxModel, type OnnxGraph, type OnnxNode } from '../tools/onnx-model.js';
import { assert } from '../../src/errors.js';
import { nativeBackend } from '../../src/kernels/native.js';
import { tensorflowBackend, type TensorFlow } from '../../src/kernels/tensorflow.js';
import type { KernelBackend, QueryTokens, TokenSource } from '../../src/kernels/kernels.js';
import { seededRandom } from '../../src/random.js';
import { LANCEDB_PACKAGE, openLancedb } from './lancedb.js';
import type { PeerFigures, RuntimeSearch } from './peer.js';
import { median } from '../tools/statistics.js';

/* MaxSim by general runtimes: products of the query with all targets, then the maxima in both directions. */

const DIMENSION = 64;
const QUERY_LENGTH = 300;
const TARGET_LENGTH = 350;
const TARGET_COUNT = 64;
const ROUNDS = 9;
/** A development dependency. The type is string, so that this file compiles without it. */
const TENSORFLOW: string = '@tensorflow/tfjs';

/**
 * Times each runtime in turn with ours, on one thread. Each runtime must first compute the same integers.
 * @param lancedbFolder folder with LanceDB; without it LanceDB is skipped
 */
export async function timeRuntimes(
  lancedbFolder: string | undefined,
): Promise<Readonly<Record<string, PeerFigures>>> {
  const residueStarts = Uint32Array.from({ length: TARGET_COUNT + 1 }, (_, target) => target * TARGET_LENGTH);
  const query: QueryTokens = { values: randomRows(QUERY_LENGTH, 1), length: QUERY_LENGTH };
  const values = randomRows(TARGET_COUNT * TARGET_LENGTH, 2);
  const source: TokenSource = { dimension: DIMENSION, residueStarts, tokens: { values } };
  const native = nativeBackend();
  const ours = await backendSearch(native, source, query);
  const figures: Record<string, PeerFigures> = {
    onnxruntime_float: await compare(ours, await onnxSearch(floatGraph(values), query)),
    onnxruntime_int8: await compare(ours, await onnxSearch(integerGraph(values), query)),
  };
  try {
    const tf = (await import(TENSORFLOW)) as TensorFlow & CpuBackend;
    await tf.setBackend('cpu');
    const backend = tensorflowBackend(tf, native, { variant: 'tfjs-cpu' });
    const search = await backendSearch(backend, source, query);
    figures.tensorflow = { ...(await compare(ours, search, 1)), note: 'plain tfjs, no native library' };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    figures.tensorflow = { skipped: '@tensorflow/tfjs is not installed' };
  }
  figures.lancedb =
    lancedbFolder === undefined
      ? { skipped: `give the folder of npm install --prefix FOLDER ${LANCEDB_PACKAGE} to measure it` }
      : await compareLancedb(lancedbFolder, ours, source, query);
  return figures;
}

async function compareLancedb(
  folder: string,
  ours: RuntimeSearch,
  source: TokenSource,
  query: QueryTokens,
): Promise<PeerFigures> {
  const { both, queryToTarget } = await openLancedb(folder, source, query);
  const { ratio } = await compare(ours, both);
  return {
    // Compares its one direction with our two, because it is not built for the many searches of the other direction.
    ratio: await timeRatio(ours, queryToTarget, ROUNDS),
    both_ways_ratio: ratio,
    note: `query to target only; ${ratio.toFixed(1)} with a search a target for the other direction`,
  };
}

interface CpuBackend {
  setBackend(name: 'cpu'): Promise<boolean>;
}

async function backendSearch(
  backend: KernelBackend,
  source: TokenSource,
  query: QueryTokens,
): Promise<RuntimeSearch> {
  const store = await backend.open(source);
  return async () => (await backend.maxsim(store, [query], undefined, { threads: 1 }))[0]!;
}

async function onnxSearch(graph: OnnxGraph, query: QueryTokens): Promise<RuntimeSearch> {
  const session = await InferenceSession.create(writeOnnxModel(graph), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const tokens = new Tensor('float32', Float32Array.from(query.values), [QUERY_LENGTH, DIMENSION]);
  return async () => {
    const { of_targets: ofTargets, of_queries: ofQueries } = await session.run({ query: tokens });
    return {
      targetToQuery: sumRows(ofTargets!.data as ArrayLike<number>, TARGET_LENGTH),
      queryToTarget: sumRows(ofQueries!.data as ArrayLike<number>, QUERY_LENGTH),
    };
  };
}

function sumRows(values: ArrayLike<number>, width: number): Int32Array {
  const sums = new Int32Array(values.length / width);
  for (let k = 0; k < values.length; k++) sums[Math.floor(k / width)]! += values[k]!;
  return sums;
}

/** The targets are constants, so that the runtime can prepare them. The query is an input of each run. */
function floatGraph(targets: Int8Array): OnnxGraph {
  return productGraph(targets, [
    { operator: 'Transpose', inputs: ['query'], outputs: ['columns'] },
    { operator: 'MatMul', inputs: ['targets', 'columns'], outputs: ['products'] },
  ]);
}

/** Multiplies unsigned by signed bytes, the runtime's fastest combination. A zero point of 128 shifts the targets. */
function integerGraph(targets: Int8Array): OnnxGraph {
  const signed = 3;
  const unsigned = 2;
  return productGraph(
    Float32Array.from(targets, (value) => value + 128),
    [
      { operator: 'Cast', inputs: ['targets'], outputs: ['target_bytes'], attributes: { to: unsigned } },
      { operator: 'Cast', inputs: ['zero'], outputs: ['zero_byte'], attributes: { to: unsigned } },
      { operator: 'Cast', inputs: ['query'], outputs: ['query_bytes'], attributes: { to: signed } },
      { operator: 'Transpose', inputs: ['query_bytes'], outputs: ['columns'] },
      { operator: 'MatMulInteger', inputs: ['target_bytes', 'columns', 'zero_byte'], outputs: ['products'] },
    ],
    'int32',
  );
}

function productGraph(targets: ArrayLike<number>, nodes: readonly OnnxNode[], type?: 'int32'): OnnxGraph {
  // The writer supports float outputs only. The few maxima are cast after the work.
  const cast = (from: string, to: string): OnnxNode => ({
    operator: type === undefined ? 'Identity' : 'Cast',
    inputs: [from],
    outputs: [to],
    ...(type === undefined ? {} : { attributes: { to: 1 } }),
  });
  const largest = (to: string, axis: number): OnnxNode => ({
    operator: 'ReduceMax',
    inputs: ['products'],
    outputs: [to],
    attributes: { axes: [axis], keepdims: 0 },
  });
  return {
    name: 'maxsim',
    description: 'MaxSim by a matrix product and maxima.',
    inputs: [{ name: 'query', type: 'float32', dims: [QUERY_LENGTH, DIMENSION] }],
    outputs: [
      { name: 'of_targets', type: 'float32', dims: [TARGET_COUNT, TARGET_LENGTH] },
      { name: 'of_queries', type: 'float32', dims: [TARGET_COUNT, QUERY_LENGTH] },
    ],
    constants: [
      { name: 'targets', dims: [TARGET_COUNT, TARGET_LENGTH, DIMENSION], values: Float32Array.from(targets) },
      ...(type === undefined ? [] : [{ name: 'zero', dims: [], values: Float32Array.of(128) }]),
    ],
    nodes: [
      ...nodes,
      largest('row_maxima', 2),
      largest('column_maxima', 1),
      cast('row_maxima', 'of_targets'),
      cast('column_maxima', 'of_queries'),
    ],
  };
}

async function compare(
  ours: RuntimeSearch,
  theirs: RuntimeSearch,
  rounds = ROUNDS,
): Promise<{ ratio: number }> {
  const [expected, actual] = [await ours(), await theirs()];
  for (const side of ['queryToTarget', 'targetToQuery'] as const) {
    assert(
      expected[side].every((sum, target) => sum === actual[side][target]),
      'a peer must compute what we compute before it is timed',
    );
  }
  return { ratio: await timeRatio(ours, theirs, rounds) };
}

async function timeRatio(
  ours: RuntimeSearch,
  theirs: () => Promise<unknown>,
  rounds: number,
): Promise<number> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const seconds = await processorSeconds(theirs);
    // Ours takes much less time, so that ten searches are needed for a measurable time.
    const tenOfOurs = await processorSeconds(async () => {
      for (let k = 0; k < 10; k++) await ours();
    });
    ratios.push((10 * seconds) / tenOfOurs);
  }
  return median(ratios);
}

async function processorSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1e-6;
}

/** Random rows with squared norms just below 32,767. Shape  [count × dimension]. Unit  int8 components */
function randomRows(count: number, seed: number): Int8Array {
  const random = seededRandom(seed);
  const rows = new Int8Array(count * DIMENSION);
  for (let row = 0; row < count; row++) {
    const direction = Array.from({ length: DIMENSION }, () => random.share() - 0.5);
    const norm = Math.hypot(...direction);
    rows.set(
      direction.map((x) => Math.trunc((x / norm) * 180)),
      row * DIMENSION,
    );
  }
  return rows;
}
