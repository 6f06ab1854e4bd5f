import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../errors.js';
import type { Embeddings, EmbeddingShape } from './embeddings.js';
import { readFloats, type FloatBytes } from './floats.js';

const MAGIC = '\x93NUMPY';
const HEADER_MAX_BYTES = 4_096;
const HEADER =
  /^\{\s*'descr':\s*'<f([248])',\s*'fortran_order':\s*False,\s*'shape':\s*\((\d{1,9}),\s*(\d{1,9})\),?\s*\}\s*$/;

interface NpyFile {
  readonly shape: EmbeddingShape;
  readonly floatBytes: FloatBytes;
  readonly start: number;
}

/**
 * A folder of NumPy's files, `<id>.npy` for each protein: [residues × features], little-endian, in C order.
 * Errors  Refusal `invalid_embeddings`
 * Source  https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export function openNpyEmbeddings(folder: string, names: ReadonlySet<string>, digest: string): Embeddings {
  const withFile = <Result>(id: string, work: (file: number, path: string) => Result): Result | undefined => {
    // Only what the folder was seen to hold is opened, so that no id leads out of it.
    if (!names.has(`${id}.npy`)) return undefined;
    const path = join(folder, `${id}.npy`);
    const file = openSync(path, 'r');
    try {
      return work(file, path);
    } finally {
      closeSync(file);
    }
  };
  return {
    digest,
    shapeOf: (id) => withFile(id, (file, path) => readHeader(file, path).shape),
    read(id) {
      const floats = withFile(id, (file, path) => {
        const { shape, floatBytes, start } = readHeader(file, path);
        const bytes = Buffer.alloc(shape.residues * shape.features * floatBytes);
        for (let done = 0; done < bytes.length;) {
          const count = readSync(file, bytes, done, bytes.length - done, start + done);
          if (count === 0) throw refuseNpy(path, 'it ends too early');
          done += count;
        }
        return readFloats(bytes, floatBytes);
      });
      if (floats === undefined) throw refuseNpy(folder, `there is nothing of ${id}`);
      return floats;
    },
    close: () => undefined,
  };
}

function readHeader(file: number, path: string): NpyFile {
  const head = Buffer.alloc(HEADER_MAX_BYTES);
  const { length } = head.subarray(0, readSync(file, head, 0, HEADER_MAX_BYTES, 0));
  if (length < 12 || head.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw refuseNpy(path, 'it is no file of NumPy');
  }
  const [textStart, textBytes] = head[6] === 1 ? [10, head.readUInt16LE(8)] : [12, head.readUInt32LE(8)];
  const start = textStart + textBytes;
  const match = start > length ? null : HEADER.exec(head.toString('latin1', textStart, start));
  if (match === null) {
    throw refuseNpy(
      path,
      'a table of little-endian floating-point numbers, rows after each other, is expected',
    );
  }
  const [floatBytes, residues, features] = match.slice(1).map(Number);
  if (fstatSync(file).size !== start + residues * features * floatBytes) {
    throw refuseNpy(path, `it is not as long as ${residues} by ${features} numbers are`);
  }
  return { shape: { residues, features }, floatBytes: floatBytes as FloatBytes, start };
}

function refuseNpy(path: string, problem: string): Refusal {
  return new Refusal('invalid_embeddings', `${path}: ${problem}.`, { file: path });
}
