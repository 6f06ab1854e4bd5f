import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { CONTROL_RESERVE_BYTES, MEBIBYTE_BYTES } from '../limits.js';
import { isStorageUnavailable, storageUnavailable } from './unavailable.js';

/*
 * Reserve of the control state on a full disk: its file is longer than its pages, by blocks that were written once and
 * therefore belong to the file. Deleting, cancelling and revoking can commit while a part of the reserve is left;
 * adding is refused before. On copy-on-write file systems (btrfs, ZFS) the reserve has no effect, and a commit fails.
 */

/** Below this size, only transactions that free space may commit. */
const KEPT_BYTES = CONTROL_RESERVE_BYTES / 2;
/** Below this size, the reserve is refilled. The gap to the full size avoids growth with every page. */
const REFILL_BYTES = (3 * CONTROL_RESERVE_BYTES) / 4;
const REFILL_INTERVAL_MS = 1_000;
const ZEROS = Buffer.alloc(MEBIBYTE_BYTES);

interface Stats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
}

export class ControlReserve {
  readonly #root: RootDatabase<unknown, string>;
  readonly #path: string;
  #isShort = false;
  #refilledAtMs = -Infinity;

  /** @param path of LMDB's data file */
  constructor(root: RootDatabase<unknown, string>, path: string) {
    this.#root = root;
    this.#path = path;
  }

  get isShort(): boolean {
    return this.#isShort;
  }

  /** Errors  Refusal `storage_unavailable` if the last measurement was too small */
  require(): void {
    if (this.#isShort) throw storageUnavailable('The disk is full: only what frees room is taken.');
  }

  /**
   * Refills the reserve if the disk has space. Must run inside a transaction, which excludes other growth of the file.
   */
  look(): void {
    const descriptor = openSync(this.#path, constants.O_RDWR | constants.O_APPEND);
    try {
      let left = this.#bytesLeft(descriptor);
      if (left < REFILL_BYTES && performance.now() - this.#refilledAtMs >= REFILL_INTERVAL_MS) {
        refill(descriptor, CONTROL_RESERVE_BYTES - left);
        left = this.#bytesLeft(descriptor);
        if (left < REFILL_BYTES) this.#refilledAtMs = performance.now();
      }
      this.#isShort = left < KEPT_BYTES;
    } finally {
      closeSync(descriptor);
    }
  }

  #bytesLeft(descriptor: number): number {
    const { pageSize, lastPageNumber } = this.#root.getStats() as Stats;
    return fstatSync(descriptor).size - (lastPageNumber + 1) * pageSize;
  }
}

/** Writes at the end of the file, beyond all pages of LMDB, including those of this transaction. */
function refill(descriptor: number, bytes: number): void {
  try {
    for (let missing = bytes; missing > 0;) {
      missing -= writeSync(descriptor, ZEROS, 0, Math.min(missing, ZEROS.length));
    }
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error;
  }
}
