import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { freeBytes } from '../../buffers.js';
import { MEBIBYTE_BYTES } from '../../limits.js';
import type { Disk } from './disk.js';

/* Writes bytes of objects to the disk and reads them, in constant memory. */

const WRITE_BYTES = MEBIBYTE_BYTES / 2;
/** Two blocks for each of the parts that arrive at the same time. */
const SPARE_BLOCKS_MAX_COUNT = 16;
const READ_BYTES = MEBIBYTE_BYTES / 2;

/** Writes bytes and hashes them. One block is written to the disk while the next bytes fill the other. */
export async function writeAll(
  handle: FileHandle,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly sha256: string; readonly sizeBytes: number }> {
  const hash = createHash('sha256');
  let [block, other] = [takeBlock(), takeBlock()];
  let [sizeBytes, filled] = [0, 0];
  let writing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await writing;
    writing = writeBlock(handle, block.subarray(0, filled));
    // The next await of this promise reports the failure. Until then it must not count as unhandled.
    writing.catch(() => undefined);
    [block, other, filled] = [other, block, 0];
  };
  try {
    for await (const chunk of bytes) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      for (let offset = 0; offset < chunk.length;) {
        const piece = chunk.subarray(offset, offset + block.length - filled);
        block.set(piece, filled);
        filled += piece.length;
        offset += piece.length;
        if (filled === block.length) await flush();
      }
      if (sizeBytes > maxBytes) break;
    }
    await flush();
    await writing;
  } finally {
    await writing.catch(() => undefined);
    giveBlocks(block, other);
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

/** Reused blocks. A new block for each part would be garbage after a few milliseconds. */
const spareBlocks: Buffer[] = [];

function takeBlock(): Buffer {
  return spareBlocks.pop() ?? Buffer.allocUnsafeSlow(WRITE_BYTES);
}

function giveBlocks(...blocks: readonly Buffer[]): void {
  for (const block of blocks) {
    if (spareBlocks.length < SPARE_BLOCKS_MAX_COUNT) spareBlocks.push(block);
    else freeBytes(block);
  }
}

async function writeBlock(handle: FileHandle, block: Buffer): Promise<void> {
  // A full disk may write some of the bytes before it fails.
  for (let written = 0; written < block.length;) {
    written += (await handle.write(block, written, block.length - written)).bytesWritten;
  }
}

/** Bytes [start, end) of a file, in blocks. */
export async function* readFile(
  disk: Disk,
  path: string,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  const handle = await disk.open(path, 'r');
  const readAt = (position: number): Promise<Buffer> | undefined =>
    position < end ? readBlock(handle, position, Math.min(READ_BYTES, end - position)) : undefined;
  let ahead = readAt(start);
  try {
    for (let position = start; ahead !== undefined;) {
      const block: Buffer = await ahead;
      position += block.length;
      // The disk reads ahead of the consumer. A failure is thrown at the turn of its block.
      ahead = readAt(position);
      ahead?.catch(() => undefined);
      yield block;
    }
  } finally {
    await ahead?.catch(() => undefined);
    await handle.close();
  }
}

/** Reads into a new buffer, because the consumer may still hold the previous one. */
async function readBlock(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  const { bytesRead } = await handle.read(buffer, 0, bytes, position);
  if (bytesRead === 0) throw new Error(`An object ends at byte ${position}, before its size.`);
  return buffer.subarray(0, bytesRead);
}

/** Path of the object. Creates its folder durably on first use. */
export async function placeOf(disk: Disk, folder: string, sha256: string): Promise<string> {
  const shelf = join(folder, sha256.slice(0, 2));
  if ((await disk.mkdir(shelf, { recursive: true, mode: 0o700 })) !== undefined)
    await syncFolder(disk, folder);
  return join(shelf, sha256);
}

export async function syncFolder(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function discardFile(disk: Disk, handle: FileHandle, path: string): Promise<void> {
  await handle.close().catch(() => undefined);
  await disk.rm(path, { force: true });
}
