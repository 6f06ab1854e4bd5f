import { PbfReader } from 'pbf';

/** Constants of a graph: whole numbers of 64 bits are given as numbers. */
export type OnnxValues = Float32Array | Uint8Array | Int8Array | Int32Array | readonly number[];

export interface OnnxTensor {
  readonly shape: readonly number[];
  readonly values: OnnxValues;
}

export interface OnnxNode {
  readonly kind: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Numbers and lists of numbers by name; undefined for attributes of other types. */
  readonly attributes: ReadonlyMap<string, number | readonly number[] | undefined>;
}

/** The parts of an ONNX graph that describe a computation, nodes in the order of the file. */
export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  /** Constants by name; those of other types than OnnxValues are left out. */
  readonly constants: ReadonlyMap<string, OnnxTensor>;
}

type Read<Result> = (field: number, result: Result, reader: PbfReader) => void;

/**
 * Reads the graph of an ONNX file. Field numbers are those of onnx.proto. Constants in other files are left out.
 * Errors  an error of any kind where the bytes are no protocol buffer
 */
export function readOnnxGraph(bytes: Uint8Array): OnnxGraph {
  const graph = { nodes: [] as OnnxNode[], constants: new Map<string, OnnxTensor>() };
  new PbfReader(bytes).readFields((field, result, reader) => {
    if (field === 7) reader.readMessage(readGraph, result);
  }, graph);
  return graph;
}

const readGraph: Read<{ nodes: OnnxNode[]; constants: Map<string, OnnxTensor> }> = (field, graph, reader) => {
  if (field === 1) {
    const node = { kind: '', domain: '', inputs: [], outputs: [], attributes: new Map() };
    graph.nodes.push(reader.readMessage(readNode, node));
  } else if (field === 5) {
    const raw: RawTensor = { name: '', shape: [], type: 0, data: undefined };
    const { name, shape, type, data } = reader.readMessage(readTensor, raw);
    const values = data === undefined ? undefined : valuesOf(type, data);
    if (values?.length === shape.reduce((count, size) => count * size, 1))
      graph.constants.set(name, { shape, values });
  }
};

interface NodeInTheMaking {
  kind: string;
  domain: string;
  readonly inputs: string[];
  readonly outputs: string[];
  readonly attributes: Map<string, number | readonly number[] | undefined>;
}

const readNode: Read<NodeInTheMaking> = (field, node, reader) => {
  if (field === 1) node.inputs.push(reader.readString());
  else if (field === 2) node.outputs.push(reader.readString());
  else if (field === 4) node.kind = reader.readString();
  else if (field === 7) node.domain = reader.readString();
  else if (field === 5) {
    const attribute: Attribute = { name: '', type: 0, float: 0, whole: 0, wholes: [] };
    const { name, type, float, whole, wholes } = reader.readMessage(readAttribute, attribute);
    const values: Readonly<Record<number, number | readonly number[]>> = { 1: float, 2: whole, 7: wholes };
    node.attributes.set(name, values[type]);
  }
};

interface Attribute {
  name: string;
  type: number;
  float: number;
  whole: number;
  readonly wholes: number[];
}

const readAttribute: Read<Attribute> = (field, attribute, reader) => {
  if (field === 1) attribute.name = reader.readString();
  else if (field === 2) attribute.float = reader.readFloat();
  else if (field === 3) attribute.whole = reader.readVarint(true);
  else if (field === 8) reader.readPackedVarint(attribute.wholes, true);
  else if (field === 20) attribute.type = reader.readVarint();
};

interface RawTensor {
  name: string;
  readonly shape: number[];
  type: number;
  data: Uint8Array | undefined;
}

const readTensor: Read<RawTensor> = (field, tensor, reader) => {
  if (field === 1) reader.readPackedVarint(tensor.shape, true);
  else if (field === 2) tensor.type = reader.readVarint();
  else if (field === 8) tensor.name = reader.readString();
  else if (field === 9) tensor.data = reader.readBytes();
};

/** The values of little-endian bytes by the number of their type; undefined for other types. */
function valuesOf(type: number, data: Uint8Array): OnnxValues | undefined {
  // A copy is aligned, which arrays of larger values need.
  const { buffer } = new Uint8Array(data);
  if (type === 2) return new Uint8Array(buffer);
  if (type === 3) return new Int8Array(buffer);
  if (type === 1 && data.length % 4 === 0) return new Float32Array(buffer);
  if (type === 6 && data.length % 4 === 0) return new Int32Array(buffer);
  if (type === 7 && data.length % 8 === 0) return Array.from(new BigInt64Array(buffer), Number);
  return undefined;
}
