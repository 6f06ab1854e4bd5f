import { mkdirSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Counts } from '../../counts.js';
import type { ControlStore, Table } from '../control-store.js';
import { realDisk, type Disk } from './disk.js';
import { asStorageFailure } from '../unavailable.js';
import { discardFile, placeOf, readFile, syncFolder, writeAll } from './object-files.js';

/*
 * <data>/objects/
 *   incoming/<random>   bytes on their way in; nothing there outlives the server that writes it
 *   ab/<sha256>         bytes under their own name, complete and on disk; `ab` are the first two digits
 *
 * The table `objects` counts the references to each object. A file without a row is garbage of a crash between rename
 * and transaction. The transaction that drops the last reference moves the row to `object-garbage`. The file is removed
 * when no reader has it open.
 */

/** Folder names below the data folder, and below `objects`. */
export const OBJECTS_FOLDER = 'objects';
export const INCOMING_FOLDER = 'incoming';

/** Bytes that have arrived and are hashed, but have no name yet. */
export interface Received {
  readonly sha256: string;
  readonly sizeBytes: number;
  /**
   * Renames the bytes to their digest, and pins them until the returned function is called. Before that call a
   * transaction must have counted a reference. Otherwise the bytes are garbage.
   */
  persist(): Promise<() => void>;
  discard(): Promise<void>;
}

interface ObjectRow {
  readonly sizeBytes: number;
  readonly referenceCount: number;
}

/** Bound on files removed within one transaction, because other writers wait for it. */
const COLLECT_MAX_FILES = 16;
const NAME_BYTES = 16;

export function openObjects(store: ControlStore, dataFolder: string, disk = realDisk): Objects {
  const folder = join(dataFolder, OBJECTS_FOLDER);
  mkdirSync(join(folder, INCOMING_FOLDER), { recursive: true, mode: 0o700 });
  return new Objects(store, folder, disk);
}

/**
 * The table `objects` and the files that it counts. Bytes are named by their SHA-256, and each content is stored once.
 */
export class Objects {
  readonly #store: ControlStore;
  readonly #folder: string;
  readonly #disk: Disk;
  readonly #rows: Table<ObjectRow>;
  readonly #garbage: Table<number>;
  /** Number of pins by file. A pinned file is not removed, even without references. */
  readonly #pins = new Counts();
  /** Objects with a name that no committed transaction is known to refer to. */
  readonly #unclaimed = new Set<string>();

  /** @param folder exists, with its folder for incoming bytes */
  constructor(store: ControlStore, folder: string, disk: Disk) {
    this.#store = store;
    this.#folder = folder;
    this.#disk = disk;
    this.#rows = store.table<ObjectRow>('objects');
    this.#garbage = store.table<number>('object-garbage');
  }

  /**
   * Streams bytes to disk in constant memory. Stops reading one chunk past the bound: the size is then over the bound.
   * Errors  those of the source and of the file system; no file is left behind
   */
  async receive(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Received> {
    const path = join(this.#folder, INCOMING_FOLDER, this.#newName());
    const handle = await this.#disk.open(path, 'wx', 0o600).catch((cause: unknown) => {
      throw asStorageFailure(cause);
    });
    const discard = (): Promise<void> => discardFile(this.#disk, handle, path);
    try {
      const written = await writeAll(handle, bytes, maxBytes);
      return { ...written, persist: () => this.#persist(handle, path, written.sha256), discard };
    } catch (error) {
      await discard();
      throw asStorageFailure(error);
    }
  }

  /** Reads bytes [start, end) of an object, which must be pinned. Errors  those of the file system */
  read(sha256: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    return readFile(this.#disk, this.pathOf(sha256), start, end);
  }

  /** Path of an object, for threads that read it themselves. */
  pathOf(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256);
  }

  /** Prevents the removal of the files until the returned function is called, even without references. */
  pin(names: readonly string[]): () => void {
    for (const name of names) this.#pins.add(name, 1);
    let isPinned = true;
    return () => {
      if (!isPinned) return;
      isPinned = false;
      for (const name of names) this.#pins.add(name, -1);
    };
  }

  /** Only inside a transaction. */
  addReference(sha256: string, sizeBytes: number): void {
    const referenceCount = (this.#rows.get(sha256)?.referenceCount ?? 0) + 1;
    this.#rows.putSync(sha256, { sizeBytes, referenceCount });
    if (referenceCount === 1) this.#garbage.removeSync(sha256);
  }

  /** Only inside a transaction. */
  dropReference(sha256: string): void {
    const row = this.#rows.get(sha256) as ObjectRow;
    if (row.referenceCount > 1) {
      this.#rows.putSync(sha256, { ...row, referenceCount: row.referenceCount - 1 });
      return;
    }
    this.#rows.removeSync(sha256);
    this.#garbage.putSync(sha256, row.sizeBytes);
  }

  /**
   * Runs `collect` after a durable change. Files that cannot be removed wait for the next collection, and the caller of
   * the change gets no error.
   */
  async tryCollect(): Promise<void> {
    // The server's periodic collection reports the same failure.
    await this.collect().catch(() => undefined);
  }

  /** Removes files without references; a pinned file waits for the next collection. */
  async collect(): Promise<void> {
    await this.#collectUnclaimed();
    let after = '';
    for (let isMore = true; isMore;) {
      // Read outside of the transaction: an uncommitted transaction that produced garbage may still be rolled back.
      const due = [...this.#garbage.getKeys({ start: after, limit: COLLECT_MAX_FILES })];
      isMore = due.length === COLLECT_MAX_FILES;
      after = `${due.at(-1) ?? ''}!`;
      if (due.length === 0) return;
      await this.#store.freeing(() => {
        for (const sha256 of due) if (this.#removeUnneeded(sha256)) this.#garbage.removeSync(sha256);
      });
    }
  }

  /** Removes files that an earlier server left without a row. Called once, by the server, before it accepts bytes. */
  async recover(): Promise<{ readonly removedCount: number }> {
    const incoming = join(this.#folder, INCOMING_FOLDER);
    const halves = await this.#disk.readdir(incoming);
    for (const name of halves) await this.#disk.rm(join(incoming, name), { force: true });
    let removedCount = halves.length;
    for (const shelf of await this.#disk.readdir(this.#folder)) {
      if (/^[0-9a-f]{2}$/.test(shelf)) removedCount += await this.#recoverShelf(shelf);
    }
    return { removedCount };
  }

  /** Free bytes of the disk that this process may use. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await this.#disk.statfs(this.#folder);
    return bavail * bsize;
  }

  async #persist(handle: FileHandle, path: string, sha256: string): Promise<() => void> {
    const unpin = this.pin([sha256]);
    try {
      await handle.sync();
      await handle.close();
      await this.#disk.rename(path, await placeOf(this.#disk, this.#folder, sha256));
      this.#unclaimed.add(sha256);
      await syncFolder(this.#disk, join(this.#folder, sha256.slice(0, 2)));
      return unpin;
    } catch (error) {
      unpin();
      await discardFile(this.#disk, handle, path);
      throw asStorageFailure(error);
    }
  }

  #newName(): string {
    return this.#store.world.randomBytes(NAME_BYTES).toString('hex');
  }

  async #collectUnclaimed(): Promise<void> {
    for (const sha256 of this.#unclaimed) {
      // A row read outside of a transaction is committed. The transaction that drops it makes the object garbage.
      if (this.#rows.get(sha256) !== undefined) this.#unclaimed.delete(sha256);
    }
    const unpinned = [...this.#unclaimed].filter((sha256) => this.#pins.of(sha256) === 0);
    if (unpinned.length === 0) return;
    await this.#store.freeing(() => {
      for (const sha256 of unpinned) if (this.#removeUnneeded(sha256)) this.#unclaimed.delete(sha256);
    });
  }

  /** Removes the files of this folder that have no row, and returns their number. */
  async #recoverShelf(shelf: string): Promise<number> {
    const names = await this.#disk.readdir(join(this.#folder, shelf));
    const unknown = names.filter((name) => this.#rows.get(name) === undefined);
    if (unknown.length === 0) return 0;
    return this.#store.freeing(() => {
      const removed = unknown.filter((name) => this.#removeUnneeded(name));
      for (const name of removed) this.#garbage.removeSync(name);
      return removed.length;
    });
  }

  /**
   * Removes a file unless it has a row or a reader. Runs inside a transaction, so that no row can be added meanwhile.
   */
  #removeUnneeded(sha256: string): boolean {
    if (this.#rows.get(sha256) !== undefined || this.#pins.of(sha256) > 0) return false;
    try {
      this.#disk.unlinkSync(this.pathOf(sha256));
    } catch (error) {
      // A crash came between removal and commit, so the file is already removed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return true;
  }
}
