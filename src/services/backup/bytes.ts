import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../files.js';
import { hashFile, openHashedFile } from '../../release/hashed-file.js';

/*
 * <backup>/
 * - backup.json: manifest of the backup (manifest.ts); written last, replaced by one rename
 * - bytes/ab/<sha256>: every file, under the digest of its bytes; `ab` are its first two digits
 * - incoming/: incomplete files; an interrupted backup resumes them
 */
const BYTES_FOLDER = 'bytes';
export const INCOMING_FOLDER = 'incoming';

export interface NamedBytes {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Result of a copy. `changed`: the source's bytes do not have the expected digest. */
type Copied = 'copied' | 'known' | 'missing' | 'changed';

/** Files of a backup by their digest. An existing file is not copied again. */
export class BackupBytes {
  readonly #folder: string;
  readonly #isVerifying: boolean;
  /** Folders with new names, which must be synced. */
  readonly #shelves = new Set<string>();
  readonly #verified = new Set<string>();

  /** @param isVerifying reads existing files and copies changed ones again */
  constructor(folder: string, isVerifying: boolean) {
    this.#folder = folder;
    this.#isVerifying = isVerifying;
  }

  /** @param onBytes  called with the number of copied bytes */
  async put(source: string, bytes: NamedBytes, onBytes: (bytes: number) => void): Promise<Copied> {
    const path = pathIn(this.#folder, bytes.sha256);
    if (await this.#isThere(path, bytes)) return 'known';
    const incoming = join(this.#folder, INCOMING_FOLDER, bytes.sha256);
    await mkdir(dirname(incoming), { recursive: true, mode: 0o700 });
    const outcome = await copyFile(source, incoming, bytes, onBytes);
    if (outcome !== 'copied') return outcome;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(incoming, path);
    this.#shelves.add(dirname(path));
    return 'copied';
  }

  /** Makes names durable. Called before the manifest names them. */
  async sync(): Promise<void> {
    for (const shelf of this.#shelves) await syncFolder(shelf);
    await mkdir(join(this.#folder, BYTES_FOLDER), { recursive: true, mode: 0o700 });
    await syncFolder(join(this.#folder, BYTES_FOLDER));
    await syncFolder(this.#folder);
  }

  /** Removes all other files and returns their number. Called after the manifest names only these. */
  async keepOnly(names: ReadonlySet<string>): Promise<number> {
    const folder = join(this.#folder, BYTES_FOLDER);
    let removedCount = 0;
    for (const shelf of await readdir(folder)) {
      for (const name of await readdir(join(folder, shelf))) {
        if (names.has(name)) continue;
        await rm(join(folder, shelf, name));
        removedCount += 1;
      }
    }
    await rm(join(this.#folder, INCOMING_FOLDER), { recursive: true, force: true });
    return removedCount;
  }

  async #isThere(path: string, { sha256, sizeBytes }: NamedBytes): Promise<boolean> {
    const stats = await stat(path).catch(() => undefined);
    if (stats?.size !== sizeBytes) return false;
    if (!this.#isVerifying || this.#verified.has(sha256)) return true;
    this.#verified.add(sha256);
    return (await hashFile(path)).sha256 === sha256;
  }
}

export function pathIn(folder: string, sha256: string): string {
  return join(folder, BYTES_FOLDER, sha256.slice(0, 2), sha256);
}

/**
 * Copies a file of known digest durably. Resumes an interrupted copy. Removes the copy if its digest is wrong.
 * Errors  those of the file system
 */
export async function copyFile(
  source: string,
  target: string,
  { sha256, sizeBytes }: NamedBytes,
  onBytes: (bytes: number) => void,
): Promise<Exclude<Copied, 'known'>> {
  if ((await stat(source).catch(() => undefined)) === undefined) return 'missing';
  const begun = (await stat(target).catch(() => undefined))?.size ?? 0;
  // A partial copy may be of another file, or damaged by a power cut. Its digest shows that, and it is copied again.
  for (const storeBytes of begun === 0 ? [0] : [Math.min(begun, sizeBytes), 0]) {
    const copy = await openHashedFile(target, storeBytes);
    try {
      for await (const chunk of createReadStream(source, { start: storeBytes, highWaterMark: COPY_BYTES })) {
        await copy.write(chunk as Buffer);
        onBytes((chunk as Buffer).length);
      }
    } catch (cause) {
      await copy.abandon();
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
      throw cause;
    }
    const written = await copy.finish();
    if (written.sha256 === sha256 && written.size_bytes === sizeBytes) return 'copied';
  }
  await rm(target, { force: true });
  return 'changed';
}

const COPY_BYTES = 1 << 20;
