import { ContentTable } from '../objects/contents.js';
import type { EventTable } from '../tables/events.js';
import { FileTable } from './files.js';
import type { ControlStore } from '../control-store.js';
import { realDisk } from '../objects/disk.js';
import { openObjects, type Objects } from '../objects/objects.js';
import { StorageUsageTable } from './storage-usage.js';
import { UploadTable } from './uploads.js';

/** Tables of stored bytes and of all rows that refer to them. */
export interface StorageTables {
  readonly objects: Objects;
  readonly contents: ContentTable;
  readonly files: FileTable;
  readonly uploads: UploadTable;
  readonly usage: Pick<StorageUsageTable, 'get'>;
}

/** @param events appends the events of files in the transaction of the change */
export function openStorageTables(
  store: ControlStore,
  dataFolder: string,
  events: EventTable,
  disk = realDisk,
): StorageTables {
  const objects = openObjects(store, dataFolder, disk);
  const contents = new ContentTable(store, objects);
  const usage = new StorageUsageTable(store);
  const files = new FileTable(store, { contents, usage, events });
  return { objects, contents, files, uploads: new UploadTable(store, { objects, files, usage }), usage };
}
