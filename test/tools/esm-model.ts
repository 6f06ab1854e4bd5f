import {
  littleEndian,
  writeOnnxModel,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
  type OnnxTensor,
} from '#bench/tools/onnx-model.js';
import { seededRandom, type Random } from '#src/random.js';

/** Sizes of an ESM-2-shaped model; ESM-2 itself is 6 layers × 320 with 20 heads in its smallest form. */
export interface EsmShape {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  /** Longest input of the model, CLS and EOS included. Unit  tokens */
  readonly positions: number;
  readonly seed: number;
}

/** Order of ESM-2's vocabulary. */
const TOKENS =
  '<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>'.split(' ');

/** Tokenizer members of an ESM-2 card. */
export const ESM_TOKENIZER = {
  vocabulary: Object.fromEntries(
    TOKENS.flatMap((token, id) => (/^[A-Z]$/.test(token) ? [[token, id] as const] : [])),
  ),
  unknown: TOKENS.indexOf('X'),
  padding: TOKENS.indexOf('<pad>'),
  prefix: [TOKENS.indexOf('<cls>')],
  suffix: [TOKENS.indexOf('<eos>')],
};

/**
 * A transformer of ESM-2's shape with random weights: pre-norm layers, rotary positions, GELU, a final norm. Weights
 * have the spread of ESM-2's own initialisation (0.02). Its table of rotations ends at `positions`, so longer input
 * fails.
 * Source  Lin et al. 2023, Science 379:1123; Su et al. 2021 (rotary positions)
 */
export function writeEsmModel(shape: EsmShape): Uint8Array {
  return writeOnnxModel(esmGraph(shape));
}

/** The model with its table of embeddings in a separate file, as models over 2 GiB have their weights. */
export function writeEsmModelWithData(
  shape: EsmShape,
  dataFile: string,
): { model: Uint8Array; data: Uint8Array } {
  const graph = esmGraph(shape);
  const embedding = graph.constants.find(({ name }) => name.startsWith('embedding'))!;
  const constants = graph.constants.map((tensor) =>
    tensor === embedding ? { ...tensor, externalFile: dataFile } : tensor,
  );
  return { model: writeOnnxModel({ ...graph, constants }), data: littleEndian(embedding.values) };
}

function esmGraph(shape: EsmShape): OnnxGraph {
  const builder = new GraphBuilder(seededRandom(shape.seed));
  const { width, heads, positions } = shape;
  builder.rotations(positions, width / heads);
  builder.constant('to_heads', [0, 0, heads, width / heads]);
  builder.constant('to_width', [0, 0, width]);
  builder.constant('axes_12', [1, 2]);
  const mask = builder.maskBias();
  let x = builder.node('Gather', [builder.weight('embedding', [TOKENS.length, width]), 'input_ids']);
  for (let layer = 0; layer < shape.layers; layer++) {
    x = builder.node('Add', [x, builder.attention(builder.norm(x, width), mask, width, heads)]);
    x = builder.node('Add', [x, builder.feedForward(builder.norm(x, width), width)]);
  }
  builder.node('Identity', [builder.norm(x, width)], {}, 'last_hidden_state');
  return {
    name: 'esm-shaped',
    description: `Random weights: ${shape.layers} layers of ${width}, seed ${shape.seed}.`,
    inputs: [
      { name: 'input_ids', type: 'int64', dims: ['batch', 'length'] },
      { name: 'attention_mask', type: 'int64', dims: ['batch', 'length'] },
    ],
    outputs: [{ name: 'last_hidden_state', type: 'float32', dims: ['batch', 'length', width] }],
    constants: builder.constants,
    nodes: builder.nodes,
  };
}

class GraphBuilder {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxTensor[] = [];

  constructor(private readonly random: Random) {}

  /** Adds a node with one output and returns that output's name. */
  node(
    operator: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    output = `${operator.toLowerCase()}_${this.nodes.length}`,
  ): string {
    this.nodes.push({ operator, inputs, outputs: [output], attributes });
    return output;
  }

  constant(name: string, values: readonly number[]): string {
    this.constants.push({ name, dims: [values.length], values: BigInt64Array.from(values, BigInt) });
    return name;
  }

  scalar(value: number): string {
    const name = `scalar_${this.constants.length}`;
    this.constants.push({ name, dims: [], values: Float32Array.of(value) });
    return name;
  }

  weight(name: string, dims: readonly number[]): string {
    const count = dims.reduce((product, dim) => product * dim, 1);
    // Uniform numbers of the same spread as a normal distribution of 0.02.
    const values = Float32Array.from(
      { length: count },
      () => (this.random.share() * 2 - 1) * 0.02 * Math.sqrt(3),
    );
    this.constants.push({ name: `${name}_${this.constants.length}`, dims, values });
    return this.constants[this.constants.length - 1].name;
  }

  linear(x: string, inputs: number, outputs: number): string {
    return this.node('MatMul', [x, this.weight('linear', [inputs, outputs])]);
  }

  norm(x: string, width: number): string {
    const scale = `norm_scale_${this.constants.length}`;
    this.constants.push({ name: scale, dims: [width], values: new Float32Array(width).fill(1) });
    return this.node('LayerNormalization', [x, scale], { axis: -1, epsilon: { float: 1e-5 } });
  }

  /** 0 where a token is, −10,000 where padding is; [batch, 1, 1, length]. */
  maskBias(): string {
    const present = this.node('Cast', ['attention_mask'], { to: 1 });
    const absent = this.node('Sub', [this.scalar(1), present]);
    const hubness = this.node('Mul', [absent, this.scalar(-10_000)]);
    return this.node('Unsqueeze', [hubness, 'axes_12']);
  }

  /** Tables cos and sin of the first `length` positions, as `cos` and `sin`: [length, 1, headWidth]. */
  rotations(positions: number, headWidth: number): void {
    const angle = (i: number): number => {
      const [position, feature] = [Math.floor(i / headWidth), i % headWidth];
      return position / 10_000 ** ((2 * (feature % (headWidth / 2))) / headWidth);
    };
    const dims = [positions, 1, headWidth];
    for (const [name, wave] of [
      ['cos', Math.cos],
      ['sin', Math.sin],
    ] as const) {
      const values = Float32Array.from({ length: positions * headWidth }, (_, i) => wave(angle(i)));
      this.constants.push({ name: `${name}_table`, dims, values });
    }
    this.constant('zero', [0]);
    this.constant('half', [headWidth / 2]);
    this.constant('whole', [headWidth]);
    this.constant('last', [3]);
    const shape = this.node('Shape', ['input_ids'], { start: 1, end: 2 });
    for (const name of ['cos', 'sin']) this.node('Slice', [`${name}_table`, 'zero', shape, 'zero'], {}, name);
  }

  /** x·cos + (−second half, first half)·sin over the features of each head. */
  rotate(x: string): string {
    const first = this.node('Slice', [x, 'zero', 'half', 'last']);
    const second = this.node('Neg', [this.node('Slice', [x, 'half', 'whole', 'last'])]);
    const turned = this.node('Concat', [second, first], { axis: -1 });
    return this.node('Add', [this.node('Mul', [x, 'cos']), this.node('Mul', [turned, 'sin'])]);
  }

  attention(x: string, mask: string, width: number, heads: number): string {
    const [query, key, value] = Array.from({ length: 3 }, () =>
      this.node('Reshape', [this.linear(x, width, width), 'to_heads']),
    );
    const q = this.node('Transpose', [this.rotate(query)], { perm: [0, 2, 1, 3] });
    const k = this.node('Transpose', [this.rotate(key)], { perm: [0, 2, 3, 1] });
    const v = this.node('Transpose', [value], { perm: [0, 2, 1, 3] });
    const scores = this.node('Mul', [this.node('MatMul', [q, k]), this.scalar(1 / Math.sqrt(width / heads))]);
    const weights = this.node('Softmax', [this.node('Add', [scores, mask])], { axis: -1 });
    const mixed = this.node('Transpose', [this.node('MatMul', [weights, v])], { perm: [0, 2, 1, 3] });
    return this.linear(this.node('Reshape', [mixed, 'to_width']), width, width);
  }

  feedForward(x: string, width: number): string {
    const hidden = this.linear(x, width, 4 * width);
    const erf = this.node('Erf', [this.node('Mul', [hidden, this.scalar(Math.SQRT1_2)])]);
    const gate = this.node('Mul', [this.node('Add', [erf, this.scalar(1)]), this.scalar(0.5)]);
    return this.linear(this.node('Mul', [hidden, gate]), 4 * width, width);
  }
}
