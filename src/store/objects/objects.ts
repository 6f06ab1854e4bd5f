import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, unlinkSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, statfs, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { freeBytes } from '../../buffers.js';
import { MEBIBYTE_BYTES } from '../../limits.js';
import type { ControlStore } from '../control-store.js';

/*
 * <data>/objects/
 *   incoming/<random>   bytes on their way in; nothing there outlives the server that writes it
 *   ab/<sha256>         bytes under their own name, complete and on disk; `ab` are the first two digits
 *
 * The table `objects` counts who refers to each. A file without a row is garbage of a crash between rename and
 * transaction; a row without references does not exist: the transaction that drops the last one moves it to
 * `object-garbage`, and the file goes when nobody reads it.
 */

/** Places below the data folder, and below that. */
export const OBJECTS_FOLDER = 'objects';
export const INCOMING_FOLDER = 'incoming';

/** Bytes that have arrived and are hashed, not yet kept. */
export interface Received {
  readonly sha256: string;
  readonly sizeBytes: number;
  /**
   * Puts the bytes on disk under their name, and pins them until the result is called: before that a transaction must
   * have counted a reference, or they are garbage.
   */
  keep(): Promise<() => void>;
  discard(): Promise<void>;
}

/** The table `objects` and the files that it counts: bytes by their SHA-256, each content once. */
export interface Objects {
  /**
   * Streams bytes to disk in constant memory, and stops reading one chunk past the bound: the size then tells.
   * Errors  those of the source and of the file system; nothing is left behind
   */
  receive(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Received>;
  /** Bytes [start, end) of an object. Errors  those of the file system; pin it before */
  read(sha256: string, start: number, end: number): AsyncGenerator<Uint8Array>;
  /** Where an object lies: for threads that read it themselves. */
  pathOf(sha256: string): string;
  /** Keeps the files until the result is called, whatever becomes of their references. */
  pin(names: readonly string[]): () => void;
  /** Only inside a transaction. */
  addReference(sha256: string, sizeBytes: number): void;
  /** Only inside a transaction. */
  dropReference(sha256: string): void;
  /** Removes files that nobody refers to any more; a pinned one waits for the next time. */
  collect(): Promise<void>;
  /** Removes what an earlier server left without a row. To be called once, by the server, before it takes bytes. */
  recover(): Promise<{ readonly removedCount: number }>;
  /** Free bytes of the disk for us. */
  freeBytes(): Promise<number>;
}

interface ObjectRow {
  readonly sizeBytes: number;
  readonly referenceCount: number;
}

const WRITE_BYTES = MEBIBYTE_BYTES / 2;
/** Two for each part that comes at a time. */
const SPARE_BLOCKS_MAX_COUNT = 16;
const READ_BYTES = MEBIBYTE_BYTES / 2;
/** Files removed within one transaction: the writers behind it wait. */
const COLLECT_MAX_FILES = 16;

export function openObjects(store: ControlStore, dataFolder: string): Objects {
  const folder = join(dataFolder, OBJECTS_FOLDER);
  const incoming = join(folder, INCOMING_FOLDER);
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  const rows = store.table<ObjectRow>('objects');
  const garbage = store.table<number>('object-garbage');
  const pins = new Map<string, number>();
  /** Kept, and not referred to by any transaction yet. */
  const unclaimed = new Set<string>();
  const pathOf = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);

  const pin = (names: readonly string[]): (() => void) => {
    for (const name of names) pins.set(name, (pins.get(name) ?? 0) + 1);
    let isPinned = true;
    return () => {
      if (!isPinned) return;
      isPinned = false;
      for (const name of names) {
        const left = (pins.get(name) as number) - 1;
        if (left === 0) pins.delete(name);
        else pins.set(name, left);
      }
    };
  };
  /** Removes a file for good unless it has a row or a reader; inside a transaction: neither can come between. */
  const removeUnneeded = (sha256: string): boolean => {
    if (rows.get(sha256) !== undefined || pins.has(sha256)) return false;
    try {
      unlinkSync(pathOf(sha256));
    } catch (error) {
      // A crash between removal and commit: it is gone already.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return true;
  };

  return {
    pathOf,
    pin,
    async receive(bytes, maxBytes) {
      const path = join(incoming, randomUUID());
      const handle = await open(path, 'wx', 0o600);
      const discard = (): Promise<void> => discardFile(handle, path);
      const keep = async (sha256: string): Promise<() => void> => {
        const release = pin([sha256]);
        try {
          await handle.sync();
          await handle.close();
          await rename(path, await placeOf(folder, sha256));
          unclaimed.add(sha256);
          await syncFolder(join(folder, sha256.slice(0, 2)));
          return release;
        } catch (error) {
          release();
          await discard();
          throw error;
        }
      };
      try {
        const written = await writeAll(handle, bytes, maxBytes);
        return { ...written, keep: () => keep(written.sha256), discard };
      } catch (error) {
        await discard();
        throw error;
      }
    },
    async *read(sha256, start, end) {
      const handle = await open(pathOf(sha256), 'r');
      const readAt = (position: number): Promise<Buffer> | undefined =>
        position < end ? readBlock(handle, position, Math.min(READ_BYTES, end - position)) : undefined;
      let ahead = readAt(start);
      try {
        for (let position = start; ahead !== undefined;) {
          const block: Buffer = await ahead;
          position += block.length;
          // The disk works while the reader does; a failure is told at its turn.
          ahead = readAt(position);
          ahead?.catch(() => undefined);
          yield block;
        }
      } finally {
        await ahead?.catch(() => undefined);
        await handle.close();
      }
    },
    addReference(sha256, sizeBytes) {
      const referenceCount = (rows.get(sha256)?.referenceCount ?? 0) + 1;
      rows.putSync(sha256, { sizeBytes, referenceCount });
      if (referenceCount === 1) garbage.removeSync(sha256);
      unclaimed.delete(sha256);
    },
    dropReference(sha256) {
      const row = rows.get(sha256) as ObjectRow;
      if (row.referenceCount > 1)
        return rows.putSync(sha256, { ...row, referenceCount: row.referenceCount - 1 });
      rows.removeSync(sha256);
      garbage.putSync(sha256, row.sizeBytes);
    },
    async collect() {
      const given = [...unclaimed].filter((sha256) => !pins.has(sha256));
      if (given.length > 0) {
        await store.transaction(() =>
          given.forEach((sha256) => removeUnneeded(sha256) && unclaimed.delete(sha256)),
        );
      }
      if (garbage.getKeys({ limit: 1 })[Symbol.iterator]().next().done === true) return;
      let after = '';
      for (let isMore = true; isMore;) {
        await store.transaction(() => {
          const due = [...garbage.getKeys({ start: after, limit: COLLECT_MAX_FILES })];
          for (const sha256 of due) {
            if (removeUnneeded(sha256)) garbage.removeSync(sha256);
            after = `${sha256}!`;
          }
          isMore = due.length === COLLECT_MAX_FILES;
        });
      }
    },
    async recover() {
      let removedCount = 0;
      for (const name of await readdir(incoming)) {
        await rm(join(incoming, name), { force: true });
        removedCount += 1;
      }
      for (const entry of await readdir(folder)) {
        if (!/^[0-9a-f]{2}$/.test(entry)) continue;
        const unknown = (await readdir(join(folder, entry))).filter((name) => rows.get(name) === undefined);
        if (unknown.length === 0) continue;
        await store.transaction(() => {
          for (const name of unknown) {
            if (!removeUnneeded(name)) continue;
            garbage.removeSync(name);
            removedCount += 1;
          }
        });
      }
      return { removedCount };
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
  };
}

/** Hashes while it writes; one block is on its way to the disk while the next bytes arrive in the other. */
async function writeAll(
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
    // Reported by the next await of it; until then it must not count as unhandled.
    writing.catch(() => undefined);
    [block, other, filled] = [other, block, 0];
  };
  try {
    for await (const chunk of bytes) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      for (let taken = 0; taken < chunk.length;) {
        const piece = chunk.subarray(taken, taken + block.length - filled);
        block.set(piece, filled);
        filled += piece.length;
        taken += piece.length;
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

/** Blocks that wait for the next bytes to come; fresh ones would be garbage after a few milliseconds each. */
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
  // A full disk may take a part of the bytes before it fails.
  for (let written = 0; written < block.length;) {
    written += (await handle.write(block, written, block.length - written)).bytesWritten;
  }
}

/** Into a buffer of its own: the reader may still hold the one before. */
async function readBlock(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  const { bytesRead } = await handle.read(buffer, 0, bytes, position);
  if (bytesRead === 0) throw new Error(`An object ends at byte ${position}, before its size.`);
  return buffer.subarray(0, bytesRead);
}

/** The object's path; its folder is made, and durable, on first use. */
async function placeOf(folder: string, sha256: string): Promise<string> {
  const shelf = join(folder, sha256.slice(0, 2));
  if ((await mkdir(shelf, { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(folder);
  return join(shelf, sha256);
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function discardFile(handle: FileHandle, path: string): Promise<void> {
  await handle.close().catch(() => undefined);
  await rm(path, { force: true });
}
