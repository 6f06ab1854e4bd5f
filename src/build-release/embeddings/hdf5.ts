import { Fault, Refusal } from '../../errors.js';
import type { Embeddings, EmbeddingShape } from './embeddings.js';
import { readFloats, type FloatBytes } from './floats.js';

type Library = typeof import('h5wasm/node');
type Dataset = InstanceType<Library['Dataset']>;

/**
 * A data set for each protein, [residues × features] of half, single or double precision, named by its id: what
 * UniProt publishes for ProtT5 as per-residue.h5. The file is read in place, a protein at a time, by HDF5's own library
 * compiled to WebAssembly; links to other files are not followed.
 * Errors  Refusal `invalid_embeddings`
 * Source  https://www.uniprot.org/help/embeddings
 */
export async function openHdf5Embeddings(path: string, digest: string): Promise<Embeddings> {
  // Loaded where it is needed: five megabytes of code.
  const library = await import('h5wasm/node');
  const module = await library.ready;
  // It would write to the terminal and go on.
  module.activate_throwing_error_handler();
  const refuse = (problem: string): Refusal =>
    new Refusal('invalid_embeddings', `${path}: ${problem}`, { file: path });
  const attempt = <Result>(what: string, work: () => Result): Result => {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof Refusal || cause instanceof Fault) throw cause;
      throw refuse(`${what} cannot be read; HDF5 says: ${lastReason(cause)}.`);
    }
  };
  const file = attempt('the file', () => new library.File(path, 'r'));
  const names = new Set(attempt('the list of proteins', () => file.keys()));
  const find = (id: string): Dataset | undefined => {
    // By its name in the root, so that no slash leads into groups.
    if (!names.has(id)) return undefined;
    const found = attempt(id, () => file.get(id));
    return found instanceof library.Dataset ? found : undefined;
  };
  return {
    digest,
    shapeOf(id) {
      const dataset = find(id);
      return dataset === undefined ? undefined : attempt(id, () => readShape(dataset, id, refuse));
    },
    read(id) {
      const dataset = find(id);
      if (dataset === undefined) throw refuse(`there is nothing of ${id}.`);
      return attempt(id, () => {
        const { residues, features } = readShape(dataset, id, refuse);
        const floatBytes = dataset.metadata.size as FloatBytes;
        const bytes = residues * features * floatBytes;
        // The library has no numbers of half precision, so that its bytes are taken as they lie.
        const place = module._malloc(bytes);
        if (place === 0) throw new RangeError(`${bytes} bytes are more than it holds`);
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
  const { type, size, littleEndian, vlen } = dataset.metadata;
  const [residues, features, ...more] = dataset.shape ?? [];
  const isFloat = type === FLOAT_CLASS && !vlen && littleEndian && (size === 2 || size === 4 || size === 8);
  if (isFloat && residues >= 1 && features >= 1 && more.length === 0) return { residues, features };
  throw refuse(`${id} is no table of residues and features in half, single or double precision.`);
}

/** H5T_FLOAT */
const FLOAT_CLASS = 1;

/** HDF5 reports a stack; the innermost line says most. */
function lastReason(cause: unknown): string {
  const lines = (cause instanceof Error ? cause.message : String(cause)).split('\n');
  const minor = lines.findLast((line) => /^\s*minor: /.test(line));
  return (minor ?? lines[0])
    .replace(/^\s*minor: /, '')
    .trim()
    .slice(0, 200);
}
