import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { Refusal } from '../errors.js';
import { CONTROL_FOLDER } from './lmdb.js';

/** The control state at one moment, as the bytes that stand in it; a server may write meanwhile. */
export interface Snapshot {
  readonly tableNames: readonly string[];
  /** Rows of a table in the order of their keys; a table that was never made has none. */
  rows(table: string): Iterable<StoredRow>;
  get(table: string, key: string): Buffer | undefined;
  /** Whether the row is there now, whatever was at that moment. */
  isThereNow(table: string, key: string): boolean;
  /** Writes the whole control state as it is now, consistent in itself, into this folder. */
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

export interface StoredRow {
  readonly key: string;
  readonly bytes: Buffer;
}

/**
 * Opens the control state for reading: nothing is written, nothing is made.
 * Errors  Refusal `data_folder_empty` where there is none; those of LMDB where its file is damaged
 */
export async function openSnapshot(dataFolder: string): Promise<Snapshot> {
  const path = join(dataFolder, CONTROL_FOLDER);
  if (!(await stat(join(path, 'data.mdb')).catch(() => undefined))?.isFile()) {
    throw new Refusal('data_folder_empty', `${dataFolder} holds no control state of an appliance.`);
  }
  const root: RootDatabase<unknown, string> = open({ path, maxDbs: 64, encoding: 'binary', readOnly: true });
  const tableNames = [...root.getKeys()];
  const tables = new Map(
    tableNames.map((name) => [name, root.openDB<Buffer, string>({ name, encoding: 'binary' })]),
  );
  const transaction = root.useReadTransaction();
  return {
    tableNames,
    *rows(name) {
      for (const { key, value } of tables.get(name)?.getRange({ transaction }) ?? []) {
        yield { key, bytes: value };
      }
    },
    get: (name, key) => tables.get(name)?.get(key, { transaction }),
    isThereNow: (name, key) => tables.get(name)?.doesExist(key) === true,
    async copyTo(folder) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Compacted: pages that are free hold what was deleted.
      await root.backup(folder, true);
    },
    async close() {
      transaction.done();
      await root.close();
    },
  };
}
