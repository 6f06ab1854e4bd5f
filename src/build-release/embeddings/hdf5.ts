import { Fault, Refusal } from '../../errors.js';
import { MEBIBYTE_BYTES, PROTEIN_MAX_RESIDUES } from '../../limits.js';
import type { Embeddings, EmbeddingShape } from './embeddings.js';
import { readFloats, type FloatBytes } from './floats.js';

type Library = typeof import('h5wasm/node');
type Dataset = InstanceType<Library['Dataset']>;

/**
 * Opens an HDF5 file with one data set per protein, named by its id: [residues × features] of half, single or double
 * precision. UniProt publishes per-residue.h5 of ProtT5 in this form. The HDF5 library, compiled to WebAssembly, reads
 * one protein at a time; links to other files are not followed.
 * Errors  Refusal `invalid_embeddings`
 * Source  https://www.uniprot.org/help/embeddings
 */
export async function openHdf5Embeddings(path: string, digest: string): Promise<Embeddings> {
  // Loaded on demand, because the library has five megabytes.
  const library = await import('h5wasm/node');
  const module = await library.ready;
  // Without this handler, the library prints errors to the terminal and continues.
  module.activate_throwing_error_handler();
  const refuse = (problem: string): Refusal =>
    new Refusal('invalid_embeddings', `${path}: ${problem}`, { file: path });
  const attempt = <Result>(what: string, work: () => Result): Result => {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof Refusal || cause instanceof Fault) throw cause;
      throw refuse(`${what} cannot be read; HDF5 reports: ${lastReason(cause)}.`);
    }
  };
  const file = attempt('the file', () => new library.File(path, 'r'));
  const names = new Set(attempt('the list of proteins', () => file.keys()));
  const find = (id: string): Dataset | undefined => {
    // Only names of the root group are accepted, so that an id with a slash cannot select an object of another group.
    if (!names.has(id)) return undefined;
    const entity = attempt(id, () => file.get(id));
    return entity instanceof library.Dataset ? entity : undefined;
  };
  return {
    digest,
    shapeOf(id) {
      const dataset = find(id);
      return dataset === undefined ? undefined : attempt(id, () => readShape(dataset, id, refuse));
    },
    read(id) {
      const dataset = find(id);
      if (dataset === undefined) throw refuse(`there is no embedding of ${id}.`);
      return attempt(id, () => {
        const { residues, features } = readShape(dataset, id, refuse);
        const floatBytes = dataset.metadata.size as FloatBytes;
        const bytes = residues * features * floatBytes;
        // The library cannot convert half precision, so the raw bytes are read.
        const place = module._malloc(bytes);
        if (place === 0) throw new RangeError(`${bytes} bytes exceed the memory of the library`);
        try {
          module.get_dataset_data(file.file_id, dataset.path, null, null, null, BigInt(place));
          return readFloats(Buffer.from(module.HEAPU8.slice(place, place + bytes).buffer), floatBytes);
        } finally {
          module._free(place);
        }
      });
    },
    close: () => void file.close(),
  };
}

function readShape(dataset: Dataset, id: string, refuse: (problem: string) => Refusal): EmbeddingShape {
  const { type, size, littleEndian, vlen, chunks } = dataset.metadata;
  const [residues, features, ...more] = dataset.shape ?? [];
  const isFloat = type === FLOAT_CLASS && !vlen && littleEndian && (size === 2 || size === 4 || size === 8);
  // The library allocates a whole chunk, and its addresses have 32 bits.
  const chunkBytes = (chunks ?? []).reduce((product, length) => product * length, size);
  if (residues > PROTEIN_MAX_RESIDUES || features > FEATURES_MAX_COUNT || chunkBytes > CHUNK_MAX_BYTES)
    throw refuse(`${id} is larger than an embedding of a protein can be.`);
  if (isFloat && residues >= 1 && features >= 1 && more.length === 0) return { residues, features };
  throw refuse(`${id} is not a table of residues and features in half, single or double precision.`);
}

/** Large protein language models have 5,120 features. */
const FEATURES_MAX_COUNT = 8_192;
const CHUNK_MAX_BYTES = 512 * MEBIBYTE_BYTES;
/** H5T_FLOAT */
const FLOAT_CLASS = 1;

/** Returns the innermost line of HDF5's error stack, which is the most specific. */
function lastReason(cause: unknown): string {
  const lines = (cause instanceof Error ? cause.message : String(cause)).split('\n');
  const minor = lines.findLast((line) => /^\s*minor: /.test(line));
  return (minor ?? lines[0])
    .replace(/^\s*minor: /, '')
    .trim()
    .slice(0, 200);
}
