import { closeSync, fstatSync, openSync } from 'node:fs';
import type { Embeddings } from './embeddings.js';
import { npyFloats, NPY_HEADER_MAX_BYTES, npyShape, refuseNpy, type NpyBytes } from './npy.js';
import { readZipDirectory, readZipEntry, readZipHead, type RefuseZip } from './zip.js';

/** Of one protein, inflated: 65,535 residues of 4,096 features in double precision are 2.1 GB. */
const ENTRY_MAX_BYTES = 2 ** 31 - 1;

/**
 * NumPy's archive, as `numpy.savez` and `numpy.savez_compressed` write it: a table for each protein, named by its id.
 * It is read in place, a protein at a time.
 * Errors  Refusal `invalid_embeddings`
 * Source  https://numpy.org/doc/stable/reference/generated/numpy.savez.html
 */
export function openNpzEmbeddings(path: string, digest: string): Embeddings {
  const refuse: RefuseZip = (problem) => {
    throw refuseNpy(path, problem);
  };
  const file = openSync(path, 'r');
  try {
    const entries = readZipDirectory(file, fstatSync(file).size, refuse);
    const find = (id: string): NpyBytes | undefined => {
      const entry = entries.get(`${id}.npy`);
      if (entry === undefined) return undefined;
      const { sizeBytes } = entry;
      if (sizeBytes > ENTRY_MAX_BYTES) refuse(`${entry.name} is too long`);
      return {
        name: `${entry.name} in ${path}`,
        sizeBytes,
        head: () => readZipHead(file, entry, NPY_HEADER_MAX_BYTES, refuse),
        // All of it, because its checksum is of all of it.
        read: (start, length) => readZipEntry(file, entry, refuse).subarray(start, start + length),
      };
    };
    return {
      digest,
      shapeOf(id) {
        const bytes = find(id);
        return bytes && npyShape(bytes);
      },
      read: (id) => npyFloats(find(id) ?? refuse(`there is nothing of ${id}`)),
      close: () => closeSync(file),
    };
  } catch (cause) {
    closeSync(file);
    throw cause;
  }
}
