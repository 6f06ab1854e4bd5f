import type { ControlStore } from '../control-store.js';

/** What an organization keeps in storage: finished files, and open uploads with the size that they announced. */
export interface StorageUsage {
  readonly fileBytes: number;
  readonly fileCount: number;
  readonly uploadBytes: number;
  readonly uploadCount: number;
}

/** The table `storage-usage`, one row for each organization. */
export interface StorageUsageTable {
  get(organizationId: string): StorageUsage;
  /** Only inside a transaction. */
  add(organizationId: string, change: Partial<StorageUsage>): void;
}

const NOTHING: StorageUsage = { fileBytes: 0, fileCount: 0, uploadBytes: 0, uploadCount: 0 };

export function storageUsageTable(store: ControlStore): StorageUsageTable {
  const rows = store.table<StorageUsage>('storage-usage');
  const get = (organizationId: string): StorageUsage => rows.get(organizationId) ?? NOTHING;
  return {
    get,
    add(organizationId, change) {
      const { fileBytes, fileCount, uploadBytes, uploadCount } = get(organizationId);
      rows.putSync(organizationId, {
        fileBytes: fileBytes + (change.fileBytes ?? 0),
        fileCount: fileCount + (change.fileCount ?? 0),
        uploadBytes: uploadBytes + (change.uploadBytes ?? 0),
        uploadCount: uploadCount + (change.uploadCount ?? 0),
      });
    },
  };
}
