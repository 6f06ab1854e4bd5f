/*
 * Writes ONNX models in protobuf's wire format, with the few messages of onnx.proto that our generated encoders need.
 * Equal graphs give equal bytes, so that a committed model can be checked against its generator.
 */

export interface OnnxTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly values: Float32Array | BigInt64Array;
  /**
   * Name of a file beside the model that holds the values from its first byte. Without it the model holds the values.
   */
  readonly externalFile?: string;
}

/** A number or a list of numbers is an ONNX int or ints; an ONNX float is written { float }. */
export type OnnxAttribute = number | readonly number[] | { readonly float: number };

export interface OnnxNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
}

/** A graph input or output. A dimension with a name has any length. */
export interface OnnxValue {
  readonly name: string;
  readonly type: 'float32' | 'int64';
  readonly dims: readonly (number | string)[];
}

export interface OnnxGraph {
  readonly name: string;
  readonly description: string;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly constants: readonly OnnxTensor[];
  /** In topological order. */
  readonly nodes: readonly OnnxNode[];
}

const IR_VERSION = 8;
/** Version of the ONNX operator set. */
const OPERATOR_SET = 17;
const DATA_TYPES = { float32: 1, int64: 7 } as const;

/**
 * Returns the bytes of the model file.
 * Errors  a TypeError if a value does not fit its ONNX type
 * Source  onnx.proto (ONNX 1.12, IR version 8)
 */
export function writeOnnxModel(graph: OnnxGraph): Uint8Array {
  return message(
    integer(1, IR_VERSION),
    text(2, 'gloaming'),
    text(6, graph.description),
    nested(7, graphMessage(graph)),
    nested(8, message(text(1, ''), integer(2, OPERATOR_SET))),
  );
}

function graphMessage(graph: OnnxGraph): Uint8Array {
  return message(
    ...graph.nodes.map((node) => nested(1, nodeMessage(node))),
    text(2, graph.name),
    ...graph.constants.map((tensor) => nested(5, tensorMessage(tensor))),
    ...graph.inputs.map((value) => nested(11, valueMessage(value))),
    ...graph.outputs.map((value) => nested(12, valueMessage(value))),
  );
}

function nodeMessage(node: OnnxNode): Uint8Array {
  return message(
    ...node.inputs.map((name) => text(1, name)),
    ...node.outputs.map((name) => text(2, name)),
    text(4, node.operator),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) => nested(5, attributeMessage(name, value))),
  );
}

const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

function attributeMessage(name: string, value: OnnxAttribute): Uint8Array {
  if (typeof value === 'number') return message(text(1, name), integer(3, value), integer(20, ATTRIBUTE_INT));
  if ('float' in value) return message(text(1, name), float(2, value.float), integer(20, ATTRIBUTE_FLOAT));
  return message(text(1, name), ...value.map((item) => integer(8, item)), integer(20, ATTRIBUTE_INTS));
}

function tensorMessage({ name, dims, values, externalFile }: OnnxTensor): Uint8Array {
  const count = dims.reduce((product, dim) => product * dim, 1);
  if (count !== values.length)
    throw new TypeError(`${name}: ${dims.join('×')} values expected, ${values.length} given.`);
  return message(
    ...dims.map((dim) => integer(1, dim)),
    integer(2, values instanceof Float32Array ? DATA_TYPES.float32 : DATA_TYPES.int64),
    text(8, name),
    ...(externalFile === undefined
      ? [nested(9, littleEndian(values))]
      : [nested(13, message(text(1, 'location'), text(2, externalFile))), integer(14, DATA_IS_EXTERNAL)]),
  );
}

const DATA_IS_EXTERNAL = 1;

function valueMessage({ name, type, dims }: OnnxValue): Uint8Array {
  const shape = message(
    ...dims.map((dim) => nested(1, typeof dim === 'number' ? integer(1, dim) : text(2, dim))),
  );
  const tensorType = message(integer(1, DATA_TYPES[type]), nested(2, shape));
  return message(text(1, name), nested(2, nested(1, tensorType)));
}

/** Returns raw tensor data, which is little-endian on every machine. */
export function littleEndian(values: Float32Array | BigInt64Array): Uint8Array {
  const bytes = new Uint8Array(values.byteLength);
  const view = new DataView(bytes.buffer);
  if (values instanceof Float32Array) values.forEach((value, i) => view.setFloat32(i * 4, value, true));
  else values.forEach((value, i) => view.setBigInt64(i * 8, value, true));
  return bytes;
}

/*
 * Protobuf's wire format. A field is a tag (number << 3 | wire type) and a varint, four bytes, or bytes with a length.
 */
const WIRE_VARINT = 0;
const WIRE_COUNTED = 2;
const WIRE_FOUR_BYTES = 5;

function message(...fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function nested(field: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([varint((field << 3) | WIRE_COUNTED), varint(content.length), content]);
}

function text(field: number, value: string): Uint8Array {
  return nested(field, Buffer.from(value, 'utf8'));
}

function integer(field: number, value: number): Uint8Array {
  return Buffer.concat([varint((field << 3) | WIRE_VARINT), varint(value)]);
}

function float(field: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | WIRE_FOUR_BYTES), bytes]);
}

/** Encodes an integer. A negative one is its 64-bit two's complement, which takes ten bytes. */
function varint(value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is not an integer.`);
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
