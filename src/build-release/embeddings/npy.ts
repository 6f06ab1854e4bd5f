import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../errors.js';
import type { Embeddings, EmbeddingShape } from './embeddings.js';
import { readFloats, type FloatBytes } from './floats.js';

const MAGIC = '\x93NUMPY';
/** Bytes at the beginning of a file within which every known writer's header ends. */
export const NPY_HEADER_MAX_BYTES = 4_096;
/** Header of a table of floating-point numbers. Pickled objects do not match and are never read. */
const HEADER =
  /^\{\s*'descr':\s*'<f([248])',\s*'fortran_order':\s*False,\s*'shape':\s*\((\d{1,9}),\s*(\d{1,9})\),?\s*\}\s*$/;

/** Bytes of a NumPy file, on disk or in an archive. */
export interface NpyBytes {
  /** Name for messages. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Returns the first bytes, which contain the header; their checksum need not have been verified. */
  head(): Buffer;
  /** Returns `length` bytes from `start`, or fewer at the end. */
  read(start: number, length: number): Buffer;
}

interface NpyHeader {
  readonly shape: EmbeddingShape;
  readonly floatBytes: FloatBytes;
  readonly start: number;
}

/**
 * Opens a folder of NumPy files, `<id>.npy` for each protein: [residues × features], little-endian, in C order.
 * Errors  Refusal `invalid_embeddings`
 * Source  https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export function openNpyEmbeddings(folder: string, names: ReadonlySet<string>, digest: string): Embeddings {
  const withFile = <Result>(id: string, work: (bytes: NpyBytes) => Result): Result | undefined => {
    // Only names listed from the folder are opened, so that an id cannot name a file outside it.
    if (!names.has(`${id}.npy`)) return undefined;
    const path = join(folder, `${id}.npy`);
    const file = openSync(path, 'r');
    try {
      return work({
        name: path,
        sizeBytes: fstatSync(file).size,
        head: () => readBytes(file, 0, NPY_HEADER_MAX_BYTES),
        read: (start, length) => readBytes(file, start, length),
      });
    } finally {
      closeSync(file);
    }
  };
  return {
    digest,
    shapeOf: (id) => withFile(id, npyShape),
    read(id) {
      const floats = withFile(id, npyFloats);
      if (floats === undefined) throw refuseNpy(folder, `there is no embedding of ${id}`);
      return floats;
    },
    close: () => undefined,
  };
}

/** Reads the shape from the header. Errors  Refusal `invalid_embeddings` */
export function npyShape(bytes: NpyBytes): EmbeddingShape {
  return readHeader(bytes).shape;
}

/**
 * Reads all numbers of a NumPy file.
 * Shape   float32 [residues × features], row-major
 * Unit    features of the model
 * Errors  Refusal `invalid_embeddings`
 */
export function npyFloats(bytes: NpyBytes): Float32Array {
  const { shape, floatBytes, start } = readHeader(bytes);
  const length = shape.residues * shape.features * floatBytes;
  const read = bytes.read(start, length);
  if (read.length < length) throw refuseNpy(bytes.name, 'the file is truncated');
  return readFloats(read, floatBytes);
}

function readHeader({ name, sizeBytes, ...bytes }: NpyBytes): NpyHeader {
  const head = bytes.head();
  if (head.length < 12 || head.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw refuseNpy(name, 'the file is not a NumPy file');
  }
  const [textStart, textBytes] = head[6] === 1 ? [10, head.readUInt16LE(8)] : [12, head.readUInt32LE(8)];
  const start = textStart + textBytes;
  const match = start > head.length ? null : HEADER.exec(head.toString('latin1', textStart, start));
  if (match === null) {
    throw refuseNpy(name, 'a table of little-endian floating-point numbers in C order is required');
  }
  const [floatBytes, residues, features] = match.slice(1).map(Number);
  if (sizeBytes !== start + residues * features * floatBytes) {
    throw refuseNpy(name, `the file size does not match ${residues} by ${features} numbers`);
  }
  return { shape: { residues, features }, floatBytes: floatBytes as FloatBytes, start };
}

/** Reads `length` bytes of an open file from `start`, or fewer at its end. */
export function readBytes(file: number, start: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  for (let count = -1; done < length && count !== 0; done += count) {
    count = readSync(file, bytes, done, length - done, start + done);
  }
  return bytes.subarray(0, done);
}

export function refuseNpy(name: string, problem: string): Refusal {
  return new Refusal('invalid_embeddings', `${name}: ${problem}.`, { file: name });
}
