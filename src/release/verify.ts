import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { MANIFEST_FILE } from './format.js';
import { hashFile } from './hashed-file.js';
import { listedFiles, manifestText, releaseId } from './manifest.js';
import { findWrongMember } from './manifest-shape.js';
import type { FileEntry, ReleaseManifest } from './release.js';

export interface FileVerdict {
  readonly path: string;
  readonly isIntact: boolean;
  /** Description of the damage; absent if the file is intact. */
  readonly problem?: string;
}

export interface ReleaseVerdict {
  readonly id: string;
  readonly isIntact: boolean;
  /** Every file that the release lists or the folder holds. */
  readonly files: readonly FileVerdict[];
  readonly sizeBytes: number;
}

/**
 * Recomputes every digest of a release: a changed, missing or added byte anywhere in its folder is found
 * and its file named.
 * Errors  none for damage: that is the verdict; those of the file system where the folder cannot be read
 * Cost    one read of all files
 */
export async function verifyRelease(
  directory: string,
  onBytes?: (bytes: number, totalBytes: number) => void,
): Promise<ReleaseVerdict> {
  const folder = resolve(directory);
  const { manifest, verdict } = await verifyManifest(folder);
  const listed = manifest === undefined ? [] : listedFiles(manifest);
  const sizeBytes = listed.reduce((sum, file) => sum + file.size_bytes, 0);
  const files: FileVerdict[] = [verdict];
  for (const file of listed)
    files.push(await verifyFile(folder, file, (bytes) => onBytes?.(bytes, sizeBytes)));
  const paths = new Set(files.map(({ path }) => path));
  for (const path of (await readdir(folder)).sort()) {
    // Without its manifest nothing can be said of the other files.
    if (manifest === undefined || paths.has(path)) continue;
    files.push({ path, isIntact: false, problem: 'is not a file of this release' });
  }
  return { id: basename(folder), isIntact: files.every(({ isIntact }) => isIntact), files, sizeBytes };
}

async function verifyManifest(folder: string): Promise<{ manifest?: ReleaseManifest; verdict: FileVerdict }> {
  const path = MANIFEST_FILE;
  const damaged = (problem: string) => ({ verdict: { path, isIntact: false, problem } });
  let text: string;
  try {
    text = await readFile(join(folder, path), 'utf8');
  } catch (cause) {
    return damaged(`cannot be read: ${String((cause as NodeJS.ErrnoException).code)}`);
  }
  try {
    const manifest = JSON.parse(text) as ReleaseManifest;
    const id = releaseId(manifest);
    if (id !== basename(folder)) return damaged(`was changed: its content has the id ${id}`);
    if (text !== manifestText(manifest)) return damaged('was changed: same content, other text');
    const wrong = findWrongMember(manifest);
    if (wrong !== undefined) return damaged(`has no valid ${wrong}`);
    return { manifest, verdict: { path, isIntact: true } };
  } catch {
    return damaged('was changed: it is no JSON');
  }
}

async function verifyFile(
  folder: string,
  file: FileEntry,
  onBytes: (bytes: number) => void,
): Promise<FileVerdict> {
  const { path } = file;
  try {
    const { sizeBytes, sha256 } = await hashFile(join(folder, path), onBytes);
    if (sizeBytes !== file.size_bytes) {
      return { path, isIntact: false, problem: `has ${sizeBytes} bytes; ${file.size_bytes} were built` };
    }
    if (sha256 === file.sha256) return { path, isIntact: true };
    return {
      path,
      isIntact: false,
      problem: `was changed: its SHA-256 is ${sha256}; ${file.sha256} was built`,
    };
  } catch (cause) {
    return {
      path,
      isIntact: false,
      problem: `cannot be read: ${String((cause as NodeJS.ErrnoException).code)}`,
    };
  }
}
