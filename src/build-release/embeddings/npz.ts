import { closeSync, fstatSync, openSync } from 'node:fs';
import type { Embeddings } from './embeddings.js';
import { npyFloats, NPY_HEADER_MAX_BYTES, npyShape, refuseNpy, type NpyBytes } from './npy.js';
import { readZipDirectory, readZipEntry, readZipHead, type RefuseZip } from './zip.js';

/** Largest inflated size of one protein: 65,535 residues of 4,096 features in double precision have 2.1 GB. */
const ENTRY_MAX_BYTES = 2 ** 31 - 1;

/**
 * Opens an archive of `numpy.savez` or `numpy.savez_compressed` with one table per protein, named by its id. The
 * archive is read one protein at a time.
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
        // Inflates the whole entry, because the checksum covers the whole entry.
        read: (start, length) => readZipEntry(file, entry, refuse).subarray(start, start + length),
      };
    };
    return {
      digest,
      shapeOf(id) {
        const bytes = find(id);
        return bytes && npyShape(bytes);
      },
      read: (id) => npyFloats(find(id) ?? refuse(`there is no embedding of ${id}`)),
      close: () => closeSync(file),
    };
  } catch (cause) {
    closeSync(file);
    throw cause;
  }
}
