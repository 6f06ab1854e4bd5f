import { Refusal } from '../../errors.js';
import {
  FILES_PER_ORGANIZATION_MAX_COUNT,
  MEBIBYTE_BYTES,
  OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT,
} from '../../limits.js';
import type { Objects } from '../../store/objects/objects.js';
import type { StorageUsage } from '../../store/storage/storage-usage.js';

export interface StorageBounds {
  /** Largest number of bytes of one organization: its files and the announced bytes of open uploads. */
  readonly quotaBytes: number;
  /** Bytes of the disk that storage leaves free, for other data of the server. */
  readonly reserveBytes: number;
}

/** Retry interval for a full disk, which is not emptied within a moment. */
const FULL_DISK_RETRY_SECONDS = 60;

/** Refuses bytes before the disk is full. */
export class StorageRoom {
  readonly #objects: Pick<Objects, 'freeBytes'>;
  readonly #bounds: StorageBounds;
  #takenBytes = 0;

  constructor(objects: Pick<Objects, 'freeBytes'>, bounds: StorageBounds) {
    this.#objects = objects;
    this.#bounds = bounds;
  }

  /** Errors  Refusal `storage_quota_exceeded`; `file_exceeds_quota` if the file exceeds even an unused quota */
  requireQuota(usage: StorageUsage, moreBytes: number): void {
    const { quotaBytes } = this.#bounds;
    const usedBytes = usage.fileBytes + usage.uploadBytes;
    const facts = { used_bytes: usedBytes, quota_bytes: quotaBytes, requested_bytes: moreBytes };
    if (moreBytes > quotaBytes) {
      const message = `${moreBytes} bytes are more than the ${quotaBytes} of the organization's quota.`;
      throw new Refusal('file_exceeds_quota', message, facts);
    }
    this.requireQuotaBytes(usage, moreBytes);
    const isFull =
      usage.uploadCount >= OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT ||
      usage.fileCount + usage.uploadCount >= FILES_PER_ORGANIZATION_MAX_COUNT;
    if (!isFull) return;
    throw new Refusal('storage_quota_exceeded', 'The organization has too many files or open uploads.', {
      ...facts,
      file_count: usage.fileCount,
      open_upload_count: usage.uploadCount,
    });
  }

  /** Checks the bytes alone, for uploads that are open already. Errors  Refusal `storage_quota_exceeded` */
  requireQuotaBytes({ fileBytes, uploadBytes }: StorageUsage, moreBytes: number): void {
    const { quotaBytes } = this.#bounds;
    const usedBytes = fileBytes + uploadBytes;
    if (usedBytes + moreBytes <= quotaBytes) return;
    throw new Refusal(
      'storage_quota_exceeded',
      `The organization stores ${usedBytes} of ${quotaBytes} bytes: no room for ${moreBytes} more.`,
      { used_bytes: usedBytes, quota_bytes: quotaBytes, requested_bytes: moreBytes },
    );
  }

  /** Errors  Refusal `storage_full` if less than the reserve would remain */
  async requireDisk(moreBytes: number): Promise<void> {
    const freeBytes = await this.#objects.freeBytes();
    const neededBytes = moreBytes + this.#takenBytes + this.#bounds.reserveBytes;
    if (freeBytes >= neededBytes) return;
    throw new Refusal('storage_full', `The disk has no room for ${moreBytes} bytes besides its reserve.`, {
      requested_bytes: moreBytes,
      retryAfterSeconds: FULL_DISK_RETRY_SECONDS,
    });
  }

  /**
   * Reserves disk space for bytes that are about to be written. The returned function releases the reservation after
   * writing or giving up. Further calls are no-ops, because a double release would use the reserve.
   */
  async take(moreBytes: number): Promise<() => void> {
    await this.requireDisk(moreBytes);
    this.#takenBytes += moreBytes;
    let isTaken = true;
    return () => {
      if (isTaken) this.#takenBytes -= moreBytes;
      isTaken = false;
    };
  }
}

/** Disk space reserved at a time. A client that sends no more bytes holds no more space. */
const STEP_BYTES = 8 * MEBIBYTE_BYTES;

/** Disk space for one file, reserved in steps while its bytes come. */
export class RoomInSteps {
  readonly #room: StorageRoom;
  readonly #maxBytes: number;
  #sizeBytes = 0;
  #reservedBytes = 0;
  #giveBack: () => void = () => undefined;

  /** @param maxBytes largest size of the file; default: unknown */
  constructor(room: StorageRoom, maxBytes = Infinity) {
    this.#room = room;
    this.#maxBytes = maxBytes;
  }

  /** Reserves space for the next bytes of the file. Earlier bytes are on the disk. Errors  Refusal `storage_full` */
  async add(moreBytes: number): Promise<void> {
    const sizeBytes = this.#sizeBytes + moreBytes;
    if (sizeBytes > this.#reservedBytes) {
      this.#giveBack();
      const stepBytes = Math.max(moreBytes, Math.min(STEP_BYTES, this.#maxBytes - this.#sizeBytes));
      this.#giveBack = await this.#room.take(stepBytes);
      this.#reservedBytes = this.#sizeBytes + stepBytes;
    }
    this.#sizeBytes = sizeBytes;
  }

  /** Releases the reservation after the last byte or giving up. A repeated call is a no-op. */
  giveBack(): void {
    this.#giveBack();
  }
}
