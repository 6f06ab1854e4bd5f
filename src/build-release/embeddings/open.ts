import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../errors.js';
import { peekBytes, readInputFile, refuseFile } from '../../sequence/input-file.js';
import type { Embeddings } from './embeddings.js';
import { openHdf5Embeddings } from './hdf5.js';
import { openNpyEmbeddings } from './npy.js';
import { openNpzEmbeddings } from './npz.js';

const FILES = [
  { magic: '\x89HDF\r\n\x1a\n', open: openHdf5Embeddings },
  { magic: 'PK\x03\x04', open: openNpzEmbeddings },
] as const;
const HEAD_BYTES = 8;

/**
 * Opens precomputed embeddings: an HDF5 file, a NumPy archive, or a folder of `<id>.npy`. Their content is hashed,
 * because the digest is part of the release's identity.
 * Errors  Refusal `file_not_found`, `invalid_embeddings`; errors of the file system
 */
export async function openEmbeddings(path: string, onBytes?: (bytes: number) => void): Promise<Embeddings> {
  if (await isFolder(path)) return openFolder(path, onBytes);
  const { head, all } = await peekBytes(readInputFile(path, onBytes), HEAD_BYTES);
  const format = FILES.find(({ magic }) => head.toString('latin1', 0, magic.length) === magic);
  const hash = createHash('sha256');
  for await (const chunk of all) {
    if (format === undefined) break;
    hash.update(chunk);
  }
  if (format !== undefined) return format.open(path, hash.digest('hex'));
  throw new Refusal(
    'invalid_embeddings',
    `${path} is neither an HDF5 file, nor a NumPy archive (.npz), nor a folder of files <id>.npy.`,
    { file: path },
  );
}

async function openFolder(folder: string, onBytes?: (bytes: number) => void): Promise<Embeddings> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.npy')).sort();
  if (names.length === 0) {
    throw new Refusal('invalid_embeddings', `${folder} has no file that ends in .npy.`, { file: folder });
  }
  const hash = createHash('sha256');
  for (const name of names) {
    const path = join(folder, name);
    const { size } = await stat(path);
    hash.update(JSON.stringify([name, size]));
    for await (const chunk of readInputFile(path, onBytes)) hash.update(chunk);
  }
  return openNpyEmbeddings(folder, new Set(names), hash.digest('hex'));
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isDirectory(),
    (cause: unknown) => {
      throw refuseFile(path, cause);
    },
  );
}
