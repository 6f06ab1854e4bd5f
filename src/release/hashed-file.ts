import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, open, rm, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { Fault, ifAbsent } from '../errors.js';
import type { FileEntry } from './release.js';

const COALESCE_BYTES = 1 << 20;

/** A file written from start to end whose digest is known when its last byte is. */
export interface HashedFile {
  /** Bytes written so far, those not yet handed to the disk included. */
  readonly sizeBytes: number;
  /** Takes the bytes over: the caller must not change them afterwards. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when all that was written before the call is on the disk; writes may go on meanwhile. */
  sync(): Promise<void>;
  /** Syncs, closes and gives the manifest's entry. */
  finish(): Promise<FileEntry>;
  /** Closes without waiting for the disk; what is written stays. */
  abandon(): Promise<void>;
}

/**
 * Opens the file for appending after its first `keepBytes` bytes; what stands after them is cut off.
 * Those bytes are read once more, because a digest cannot be stored half-done.
 * Errors  those of the file system (ENOSPC among them); Fault where the file is shorter
 */
export async function openHashedFile(path: string, storeBytes = 0): Promise<HashedFile> {
  const handle = storeBytes > 0 ? await open(path, 'r+').catch(ifAbsent(undefined)) : await open(path, 'w+');
  const size = (await handle?.stat())?.size ?? 0;
  if (handle === undefined || size < storeBytes) {
    await handle?.close();
    throw new Fault(
      `${path} has ${size} of the ${storeBytes} bytes that were written; remove its folder and begin anew.`,
    );
  }
  const hash = createHash('sha256');
  await handle.truncate(storeBytes);
  for await (const chunk of readChunks(handle, storeBytes)) hash.update(chunk);
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let position = storeBytes;

  const flush = (): Promise<void> => {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    return append(bytes);
  };
  const append = async (bytes: Uint8Array): Promise<void> => {
    hash.update(bytes);
    // The position is reserved before the first await, so that a sync may run beside further writes.
    const start = position;
    position += bytes.length;
    let written = 0;
    // A full disk may take a part of the bytes before it fails.
    while (written < bytes.length) {
      written += (await handle.write(bytes, written, bytes.length - written, start + written)).bytesWritten;
    }
  };
  const sync = async (): Promise<void> => {
    await flush();
    await handle.sync();
  };
  return {
    get sizeBytes() {
      return position + waitingBytes;
    },
    async write(bytes) {
      if (bytes.length >= COALESCE_BYTES) {
        // Small pieces are joined before they are written. A large piece is written directly, without a copy.
        await flush();
        return append(bytes);
      }
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= COALESCE_BYTES) await flush();
    },
    sync,
    async finish() {
      await sync();
      await handle.close();
      return { path: basename(path), size_bytes: position, sha256: hash.digest('hex') };
    },
    abandon: () => handle.close(),
  };
}

/** Lower-case hex SHA-256 and size of a file, read in pieces. */
export async function hashFile(
  path: string,
  onBytes?: (bytes: number) => void,
): Promise<{ sizeBytes: number; sha256: string }> {
  const handle = await open(path, 'r');
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for await (const chunk of readChunks(handle, Infinity)) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      onBytes?.(chunk.length);
    }
    return { sizeBytes, sha256: hash.digest('hex') };
  } finally {
    await handle.close();
  }
}

/**
 * Puts a finished file, which never changes, under a second name: as a link, or as a copy where there are no links.
 * Errors  those of the file system
 */
export async function shareFile(from: string, to: string): Promise<void> {
  await rm(to, { force: true });
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_FICLONE));
}

async function* readChunks(handle: FileHandle, limit: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(COALESCE_BYTES);
  for (let position = 0; position < limit;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, limit - position), position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
