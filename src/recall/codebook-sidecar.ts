import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Fault } from '../errors.js';
import { CENTROID_COUNT, openCodebook, type Codebook } from '../kernels/codebook.js';
import { TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import type { Release } from '../release/release.js';
import { calibrationDirectory, type FileCard } from '../significance/card.js';
import { Slice } from '../turns.js';
import { CODEBOOK_FILE_NAME, type PolicyCard } from './policy-card.js';

const CODE_BYTES = 2;

/**
 * Opens the codebook that a policy card names. Returns undefined if its policy has none. The centroids are read and
 * their digest is checked. The centroid ids are mapped into memory without a check, because every 16-bit id is valid:
 * a changed file lowers the recall only. `verifyCodebook` detects it.
 * @param releaseDirectory  of a copy of the release; its sidecar folder has the files
 * Errors  Fault if a file is missing or has another size, if the centroids have changed, or if one is longer than a
 *         token may be
 */
export async function openCodebookOf(
  releaseDirectory: string,
  files: PolicyCard['codes'],
  { tokens, targets }: Pick<Release, 'tokens' | 'targets'>,
): Promise<Codebook | undefined> {
  if (files === undefined) return undefined;
  const { dimension, residueStarts } = tokens;
  const [centroids, centroidIds] = [files.words, files.codes].map((file) => pathOf(releaseDirectory, file));
  await checkSize(centroids, files.words, CENTROID_COUNT * dimension);
  await checkSize(centroidIds, files.codes, CODE_BYTES * residueStarts[residueStarts.length - 1]);
  const bytes = await readFile(centroids);
  if (createHash('sha256').update(bytes).digest('hex') !== files.words.sha256) {
    throw new Fault(`${centroids} was changed.`);
  }
  const values = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  checkNorms(values, dimension, centroids);
  const text = (): Promise<Uint8Array> => textOf(targets, residueStarts);
  return openCodebook({ dimension, residueStarts, centroids: values, path: centroidIds, text });
}

/** Returns the sequences of all targets, one after the other. */
async function textOf(targets: Release['targets'], residueStarts: Uint32Array): Promise<Uint8Array> {
  const text = Buffer.alloc(residueStarts[targets.count]);
  const slice = new Slice();
  for (let target = 0; target < targets.count; target += 1) {
    text.write(targets.sequence(target), residueStarts[target], 'latin1');
    if (slice.isOver) await slice.pause();
  }
  return text;
}

/**
 * Recomputes the digests of a policy's codebook. Returns a message for each problem; an empty list means that the files
 * are intact or absent.
 * Errors  Fault if the card names a file that is not named by its digest; none for damaged or missing files
 */
export async function verifyCodebook(
  releaseDirectory: string,
  card: PolicyCard | undefined,
): Promise<readonly string[]> {
  if (card?.codes === undefined) return [];
  const problems: string[] = [];
  for (const file of [card.codes.words, card.codes.codes]) {
    const hash = createHash('sha256');
    const digest = await pipeline(createReadStream(pathOf(releaseDirectory, file)), hash).then(
      () => hash.digest('hex'),
      () => 'missing',
    );
    if (digest !== file.sha256)
      problems.push(`${file.path} ${digest === 'missing' ? 'is missing' : 'was changed'}`);
  }
  return problems;
}

function pathOf(releaseDirectory: string, { path, sha256 }: FileCard): string {
  const folder = calibrationDirectory(releaseDirectory);
  if (!CODEBOOK_FILE_NAME.test(path) || !path.includes(sha256)) {
    throw new Fault(
      `The policy card in ${folder} names codebook files by ${JSON.stringify(path)}, not by their digest.`,
    );
  }
  return join(folder, path);
}

/** Checks a file's size, and that of its card, against the size that follows from the release. */
async function checkSize(
  path: string,
  { size_bytes: cardBytes }: FileCard,
  expectedBytes: number,
): Promise<void> {
  const size = await stat(path).then(
    (status) => status.size,
    () => 'missing',
  );
  if (size !== expectedBytes || cardBytes !== expectedBytes)
    throw new Fault(`${path} should have ${expectedBytes} bytes; it is ${size}.`);
}

function checkNorms(centroids: Int8Array, dimension: number, path: string): void {
  for (let start = 0; start < centroids.length; start += dimension) {
    let norm = 0;
    for (let at = start; at < start + dimension; at += 1) norm += centroids[at] * centroids[at];
    if (norm > TOKEN_MAX_SQUARED_NORM) throw new Fault(`${path} has a centroid longer than a token may be.`);
  }
}
