import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { calibrationDirectory, type FileCard } from '../significance/card.js';
import type { CodebookCard } from '../recall/policy-card.js';
import { CENTROID_COUNT, WORD_CHILDREN, assignCentroids } from '../kernels/codebook.js';
import type { KernelOptions } from '../kernels/kernels.js';
import { openHashedFile, type HashedFile } from '../release/hashed-file.js';
import type { Release } from '../release/release.js';
import { openRowReader, type RowReader } from '../release/rows/row-reader.js';
import type { QualifyOptions } from './options.js';
import { trainCentroids, type TrainedCentroids } from './centroids.js';

/** Upper bound of the training rows, which are evenly spaced over the release: sixteen for each centroid. */
const TRAINING_ROWS = WORD_CHILDREN * CENTROID_COUNT;
const BLOCK_ROWS = 65_536;

/** Options of a codebook. The residues of the progress are those that have a centroid. */
type CodebookOptions = KernelOptions & Pick<QualifyOptions, 'onProgress'>;

/**
 * Trains the centroids of a release, assigns a centroid id to each residue, and writes both files beside the release,
 * named by their digests. The files depend only on the release's tokens.
 * Errors  those of the file system; Fault of the kernels; the signal's reason
 */
export async function writeCodebook(release: Release, options: CodebookOptions): Promise<CodebookCard> {
  const folder = calibrationDirectory(release.directory);
  await mkdir(folder, { recursive: true });
  const reader = await openRowReader(release.tokens);
  try {
    const { dimension, residueStarts } = release.tokens;
    const { onProgress, ...kernelOptions } = options;
    onProgress?.({ stage: 'codebook', done: 0, total: residueStarts[residueStarts.length - 1] });
    const centroids = await trainCentroids(await trainingRows(release, reader), dimension, kernelOptions);
    return {
      words: await writeNamed(folder, 'words', (file) => file.write(bytesOf(centroids.children))),
      codes: await writeNamed(folder, 'codes', (file) => codeRows(release, reader, centroids, file, options)),
    };
  } finally {
    await reader.close();
  }
}

/** Reads every n-th row of the release, or all rows of a small one. */
async function trainingRows({ tokens }: Release, reader: RowReader): Promise<Int8Array> {
  const { dimension, residueStarts } = tokens;
  const rowCount = residueStarts[residueStarts.length - 1];
  const step = Math.ceil(rowCount / TRAINING_ROWS);
  const chosen = new Int8Array(Math.ceil(rowCount / step) * dimension);
  for (let first = 0; first < rowCount; first += BLOCK_ROWS) {
    const rows = await reader.read(first, Math.min(BLOCK_ROWS, rowCount - first));
    const end = first + rows.length / dimension;
    for (let row = Math.ceil(first / step) * step; row < end; row += step) {
      const start = (row - first) * dimension;
      chosen.set(rows.subarray(start, start + dimension), (row / step) * dimension);
    }
  }
  return chosen;
}

async function codeRows(
  { tokens }: Release,
  reader: RowReader,
  centroids: TrainedCentroids,
  file: HashedFile,
  { onProgress, ...options }: CodebookOptions,
): Promise<void> {
  const { dimension, residueStarts } = tokens;
  const rowCount = residueStarts[residueStarts.length - 1];
  for (let first = 0; first < rowCount; first += BLOCK_ROWS) {
    const rows = await reader.read(first, Math.min(BLOCK_ROWS, rowCount - first));
    await file.write(bytesOf(await assignCentroids({ dimension, ...centroids }, rows, options)));
    const done = Math.min(first + BLOCK_ROWS, rowCount);
    onProgress?.({ stage: 'codebook', done, total: rowCount });
  }
}

/** Writes a file and names it by its digest. */
async function writeNamed(
  folder: string,
  kind: 'words' | 'codes',
  write: (file: HashedFile) => Promise<void>,
): Promise<FileCard> {
  const unnamed = join(folder, `${kind}.new`);
  const file = await openHashedFile(unnamed);
  try {
    await write(file);
  } catch (cause) {
    await file.abandon();
    throw cause;
  }
  const { size_bytes: size, sha256 } = await file.finish();
  const path = `${kind}-${sha256}.bin`;
  await rename(unnamed, join(folder, path));
  return { path, size_bytes: size, sha256 };
}

function bytesOf({ buffer, byteOffset, byteLength }: Int8Array | Uint16Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
