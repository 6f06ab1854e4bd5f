import type { ControlStore, Table } from '../control-store.js';

/**
 * Storage of an organization: bytes of finished files, and of open uploads. These are the announced bytes, and bytes
 * that were received for a part after acknowledged ones.
 */
export interface StorageUsage {
  readonly fileBytes: number;
  readonly fileCount: number;
  readonly uploadBytes: number;
  readonly uploadCount: number;
}

const NOTHING: StorageUsage = { fileBytes: 0, fileCount: 0, uploadBytes: 0, uploadCount: 0 };

/** The table `storage-usage`, one row for each organization. */
export class StorageUsageTable {
  readonly #rows: Table<StorageUsage>;

  constructor(store: ControlStore) {
    this.#rows = store.table<StorageUsage>('storage-usage');
  }

  get(organizationId: string): StorageUsage {
    return this.#rows.get(organizationId) ?? NOTHING;
  }

  /** Only inside a transaction. */
  add(organizationId: string, change: Partial<StorageUsage>): void {
    const { fileBytes, fileCount, uploadBytes, uploadCount } = this.get(organizationId);
    this.#rows.putSync(organizationId, {
      fileBytes: fileBytes + (change.fileBytes ?? 0),
      fileCount: fileCount + (change.fileCount ?? 0),
      uploadBytes: uploadBytes + (change.uploadBytes ?? 0),
      uploadCount: uploadCount + (change.uploadCount ?? 0),
    });
  }
}
