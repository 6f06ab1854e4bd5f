import type { ByteBlock, ByteLayer, ByteModel } from '../kernels/byte-model.js';
import type { EncoderCard } from './encoder.js';
import type { OnnxGraph, OnnxNode, OnnxTensor, OnnxValues } from './onnx-graph.js';

/** What a graph reads and writes: its names by the card. */
type Names = Pick<EncoderCard, 'inputs' | 'output' | 'tokenizer'>;

const ONNX_BOOL = 9;
const ONNX_BYTE = 2;
const MICROSOFT = 'com.microsoft';

/**
 * The weights of a graph that gloaming-4's recipe wrote (indexes/encoders/gloaming-4/recipe/quantise.py). Every node
 * must have the operator, inputs and attributes of the recipe, in its order. Then the native kernels compute the same.
 * @returns undefined for any other graph
 */
export function byteModelOf(graph: OnnxGraph, names: Names): ByteModel | undefined {
  try {
    return new GraphReader(graph, names).model();
  } catch (error) {
    if (error instanceof UnlikeRecipe) return undefined;
    throw error;
  }
}

class UnlikeRecipe extends Error {}

function require(holds: boolean): asserts holds {
  if (!holds) throw new UnlikeRecipe();
}

type Kind<Values extends OnnxValues> = abstract new (...given: never[]) => Values;

interface Norm {
  readonly gamma: Float32Array;
  readonly epsilon: number;
  readonly output: string;
}

type Attributes = Readonly<Record<string, number | readonly number[]>>;

class GraphReader {
  readonly #graph: OnnxGraph;
  readonly #names: Names;
  #read = 0;

  constructor(graph: OnnxGraph, names: Names) {
    this.#graph = graph;
    this.#names = names;
  }

  model(): ByteModel {
    const stem = this.#stem();
    const mask = this.#mask();
    const width = stem.letters[0].shape[1];
    const blocks: (ByteBlock & { readonly mixTaps: number; readonly epsilon: number })[] = [];
    let stream = stem.output;
    let norm = this.#norm(stream);
    while (this.#next?.kind === 'QuantizeLinear') {
      const { block, output } = this.#block(norm, stream, mask);
      blocks.push(block);
      stream = output;
      norm = this.#norm(stream);
    }
    const { projection, leastLength } = this.#vectors(norm.output);
    require(this.#next === undefined && blocks.length > 0);
    const [{ mixTaps, epsilon, down }] = blocks;
    require(blocks.every((block) => block.mixTaps === mixTaps && block.epsilon === epsilon));
    const inner = down.bias.length;
    require(blocks.every((block) => block.down.bias.length === inner && block.mix.bias.length === inner));
    require(norm.epsilon === epsilon);
    const letterCount = stem.letters[0].shape[0];
    this.#checkLetters(letterCount);
    return {
      width,
      inner,
      dimension: projection.shape[1],
      stemTaps: stem.letters.length,
      mixTaps,
      letterCount,
      padding: stem.padding,
      epsilon,
      leastLength,
      letters: joined(stem.letters.map(({ values }) => values as Float32Array)),
      blocks,
      gamma: norm.gamma,
      projection: projection.values as Float32Array,
    };
  }

  get #next(): OnnxNode | undefined {
    return this.#graph.nodes[this.#read];
  }

  /** Reads the next node. @returns the name of its output */
  #node(kind: string, inputs: readonly string[], attributes: Attributes = {}, domain = ''): string {
    const node = this.#next;
    require(node !== undefined && node.kind === kind && node.domain === domain && node.outputs.length === 1);
    require(isSame(node.inputs, inputs) && node.attributes.size === Object.keys(attributes).length);
    for (const [name, expected] of Object.entries(attributes)) {
      const found = node.attributes.get(name);
      require(found !== undefined && isSame([found].flat(), [expected].flat()));
    }
    this.#read++;
    return node.outputs[0];
  }

  /** Input `at` of the next node. */
  #input(at: number): string {
    return this.#next?.inputs[at] ?? '';
  }

  /** The constant that is an input of the next node, with its name. */
  #constant<Values extends OnnxValues>(
    at: number,
    kind: Kind<Values>,
  ): OnnxTensor & { readonly name: string } {
    const name = this.#input(at);
    const tensor = this.#graph.constants.get(name);
    require(tensor !== undefined && tensor.values instanceof kind);
    return { ...tensor, name };
  }

  #floats(at: number, shape: readonly number[]): { readonly name: string; readonly values: Float32Array } {
    const { name, values, shape: found } = this.#constant(at, Float32Array);
    require(isSame(found, shape));
    return { name, values: values as Float32Array };
  }

  #float(at: number): { readonly name: string; readonly value: number } {
    const { name, values } = this.#floats(at, []);
    return { name, value: values[0] };
  }

  /** Name of the constant of bytes that all are `value`. */
  #filled(at: number, kind: Kind<Uint8Array | Int8Array>, shape: readonly number[], value: number): string {
    const { name, values, shape: found } = this.#constant(at, kind);
    require(isSame(found, shape) && values.every((each) => each === value));
    return name;
  }

  /** Name of the constant of these whole numbers. */
  #wholes(at: number, expected: readonly number[]): string {
    const { name, values } = this.#constant(at, Array);
    require(isSame(values as readonly number[], expected));
    return name;
  }

  /** The sum of a table's rows over neighbouring letters. */
  #stem(): { readonly letters: readonly OnnxTensor[]; readonly padding: number; readonly output: string } {
    const { ids, mask } = this.#names.inputs;
    require(mask !== null);
    const isResidue = this.#node('Cast', [mask], { to: ONNX_BOOL });
    const padding = this.#constant(2, Array);
    require(padding.values.length === 1);
    const letters = this.#node('Where', [isResidue, ids, padding.name]);
    const sides = this.#constant(1, Array);
    const side = sides.values[1];
    require(isSame(sides.values as readonly number[], [0, side, 0, side]));
    const padded = this.#node('Pad', [letters, sides.name, padding.name]);
    const shape = this.#node('Shape', [ids]);
    const count = this.#node('Slice', [shape, this.#wholes(1, [1]), this.#wholes(2, [2])]);
    const tables: OnnxTensor[] = [];
    const rows: string[] = [];
    for (let tap = 0; tap <= 2 * side; tap++) {
      const start = this.#wholes(1, [tap]);
      const end = this.#node('Add', [count, start]);
      const own = this.#node('Slice', [padded, start, end, this.#wholes(3, [1])]);
      const table = this.#constant(0, Float32Array);
      require(table.shape.length === 2 && (tap === 0 || isSame(table.shape, tables[0].shape)));
      rows.push(this.#node('Gather', [table.name, own]));
      tables.push(table);
    }
    return { letters: tables, padding: padding.values[0], output: this.#node('Sum', rows) };
  }

  #mask(): string {
    const bytes = this.#node('Cast', [this.#names.inputs.mask ?? ''], { to: ONNX_BYTE });
    return this.#node('Unsqueeze', [bytes, this.#wholes(1, [-1])]);
  }

  #norm(x: string): Norm {
    const gamma = this.#constant(1, Float32Array);
    const epsilon = this.#next?.attributes.get('epsilon');
    require(typeof epsilon === 'number');
    const output = this.#node('SimplifiedLayerNormalization', [x, gamma.name], { axis: -1, epsilon });
    return { gamma: gamma.values as Float32Array, epsilon, output };
  }

  #block(norm: Norm, stream: string, mask: string) {
    const width = norm.gamma.length;
    const one = this.#float(1);
    const zero = this.#constant(2, Uint8Array);
    require(one.value === 1 && zero.shape.length === 0);
    const bytes = this.#node('QuantizeLinear', [norm.output, one.name, zero.name]);
    const down = this.#layer(bytes, zero.values[0], width, 1);
    const masked = this.#masked(down.output, mask, down.outScale);
    const mix = this.#layer(masked, 0, down.layer.bias.length);
    require(mix.inScale === down.outScale);
    const up = this.#up(mix.output, mix.outScale, mix.layer.bias.length, width);
    const output = this.#node('Add', [stream, up.output]);
    const { dilation, taps: mixTaps } = mix;
    const block = {
      dilation,
      mixTaps,
      epsilon: norm.epsilon,
      zero: zero.values[0],
      gamma: norm.gamma,
      down: down.layer,
      mix: mix.layer,
      up: up.weights,
    };
    return { block, output };
  }

  /** A convolution of bytes with a ReLU. */
  #layer(x: string, zero: number, inputs: number, wantedTaps?: number) {
    const inScale = this.#float(1);
    const zeroName = this.#filled(2, Uint8Array, [], zero);
    const weights = this.#constant(3, Int8Array);
    const [outputs, channels, taps] = weights.shape;
    require(weights.shape.length === 3 && channels === inputs && taps === (wantedTaps ?? taps));
    const scales = this.#floats(4, [outputs]);
    const zeros = this.#filled(5, Int8Array, [outputs], 0);
    const outScale = this.#float(6);
    const out = this.#filled(7, Uint8Array, [], 0);
    const bias = this.#constant(8, Int32Array);
    require(isSame(bias.shape, [outputs]));
    const [dilation] = [this.#next?.attributes.get('dilations') ?? 0].flat();
    const side = dilation * ((taps - 1) / 2);
    const names = [x, inScale, zeroName, weights, scales, zeros, outScale, out, bias];
    const output = this.#node(
      'QLinearConv',
      names.map((input) => (typeof input === 'string' ? input : input.name)),
      { channels_last: 1, kernel_shape: [taps], dilations: [dilation], pads: [side, side], strides: [1] },
      MICROSOFT,
    );
    const layer: ByteLayer = {
      weights: tapsFirst(weights.values as Int8Array, channels, taps),
      bias: bias.values as Int32Array,
      // In the order of ONNX Runtime. A product or quotient of two float32, rounded to float64 first, is the same.
      scales: scales.values.map((scale) => Math.fround(inScale.value * scale) / outScale.value),
    };
    return { layer, output, dilation, taps, inScale: inScale.value, outScale: outScale.value };
  }

  /** Bytes times the mask: they stay, because a run has no residues beyond its protein. */
  #masked(x: string, mask: string, scale: number): string {
    const before = this.#float(1);
    const zero = this.#filled(2, Uint8Array, [], 0);
    const one = this.#float(4);
    const maskZero = this.#filled(5, Uint8Array, [], 0);
    const after = this.#float(6);
    const outZero = this.#filled(7, Uint8Array, [], 0);
    require(before.value === scale && after.value === scale && one.value === 1);
    const names = [x, before.name, zero, mask, one.name, maskZero, after.name, outZero];
    return this.#node('QLinearMul', names, {}, MICROSOFT);
  }

  #up(x: string, scale: number, inputs: number, outputs: number) {
    const weights = this.#constant(1, Int8Array);
    const inScale = this.#float(2);
    const scales = this.#floats(3, [outputs]);
    const zero = this.#filled(4, Uint8Array, [], 0);
    const zeros = this.#filled(5, Int8Array, [outputs], 0);
    const bias = this.#floats(6, [outputs]);
    require(isSame(weights.shape, [inputs, outputs]) && inScale.value === scale);
    const names = [x, weights.name, inScale.name, scales.name, zero, zeros, bias.name];
    const output = this.#node('MatMulIntegerToFloat', names, {}, MICROSOFT);
    return {
      output,
      weights: {
        weights: transposed(weights.values as Int8Array, outputs),
        scales: scales.values.map((each) => inScale.value * each),
        bias: bias.values,
      },
    };
  }

  #vectors(x: string): { readonly projection: OnnxTensor; readonly leastLength: number } {
    const projection = this.#constant(1, Float32Array);
    require(projection.shape.length === 2);
    const product = this.#node('MatMul', [x, projection.name]);
    const length = this.#node('ReduceL2', [product], { axes: [-1], keepdims: 1 });
    const least = this.#float(1);
    const divisor = this.#node('Clip', [length, least.name]);
    require(this.#node('Div', [product, divisor]) === this.#names.output);
    return { projection, leastLength: least.value };
  }

  /** All tokens that a protein can have must be rows of the tables of letters. */
  #checkLetters(letterCount: number): void {
    const { vocabulary, unknown, prefix, suffix } = this.#names.tokenizer;
    const tokens = [...Object.values(vocabulary), unknown, ...prefix, ...suffix];
    require(tokens.every((token) => token >= 0 && token < letterCount));
  }
}

/** From [outputs][channels][taps] to [outputs][taps][channels]. */
function tapsFirst(weights: Int8Array, channels: number, taps: number): Int8Array {
  return weights.map((_, at) => {
    const channel = at % channels;
    const tap = Math.floor(at / channels) % taps;
    const output = Math.floor(at / (channels * taps));
    return weights[(output * channels + channel) * taps + tap];
  });
}

/** From [inputs][outputs] to [outputs][inputs]. */
function transposed(weights: Int8Array, outputs: number): Int8Array {
  const inputs = weights.length / outputs;
  return weights.map((_, at) => weights[(at % inputs) * outputs + Math.floor(at / inputs)]);
}

function joined(tables: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(tables.reduce((count, { length }) => count + length, 0));
  tables.forEach((table, at) => all.set(table, at * table.length));
  return all;
}

function isSame<Value>(found: readonly Value[], expected: readonly Value[]): boolean {
  return found.length === expected.length && found.every((value, at) => value === expected[at]);
}
