import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { open, type Database, type RootDatabase, type Transaction } from 'lmdb';
import { Refusal } from '../errors.js';
import { CONTROL_FOLDER, requireControlState } from './prepare.js';
import { requireReadable, SETTINGS_TABLE, VERSION_KEY, versionOf } from './version.js';

export interface StoredRow {
  readonly key: string;
  readonly bytes: Buffer;
}

type Bytes = Database<Buffer, string>;

/** The control state at one moment, as encoded rows. A server may write meanwhile. */
export class Snapshot {
  readonly #root: RootDatabase<unknown, string>;
  readonly #tables: ReadonlyMap<string, Bytes>;
  readonly #transaction: Transaction;
  readonly #rowCounts: ReadonlyMap<string, number>;

  constructor(root: RootDatabase<unknown, string>) {
    this.#root = root;
    this.#tables = new Map(
      [...root.getKeys()].map((name) => [name, root.openDB<Buffer, string>({ name, encoding: 'binary' })]),
    );
    this.#transaction = root.useReadTransaction();
    // Statistics are those of the latest read transaction: the snapshot's, until the next turn of the event loop.
    this.#rowCounts = new Map(
      [...this.#tables].map(([name, table]) => [
        name,
        (table.getStats() as { entryCount: number }).entryCount,
      ]),
    );
  }

  get tableNames(): readonly string[] {
    return [...this.#tables.keys()];
  }

  /** Rows of a table in the order of their keys. An absent table has none. */
  *rows(table: string): Generator<StoredRow> {
    const range = this.#tables.get(table)?.getRange({ transaction: this.#transaction }) ?? [];
    for (const { key, value } of range) yield { key, bytes: value };
  }

  /** Number of rows that the table's own record states. `rows` returns as many unless a page is damaged. */
  rowCount(table: string): number {
    return this.#rowCounts.get(table) ?? 0;
  }

  get(table: string, key: string): Buffer | undefined {
    return this.#tables.get(table)?.get(key, { transaction: this.#transaction });
  }

  /** Whether the row exists now, independent of the snapshot's moment. */
  isThereNow(table: string, key: string): boolean {
    return this.#tables.get(table)?.doesExist(key) === true;
  }

  /** Writes a consistent copy of the present control state into this folder. Errors  those of LMDB */
  async copyTo(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Compacted, because free pages hold deleted values.
    await this.#root.backup(folder, true);
  }

  async close(): Promise<void> {
    this.#transaction.done();
    await this.#root.close();
  }
}

/**
 * Opens the control state for reading, without any write. Data of an earlier version are not migrated, so that they can
 * be backed up first.
 * Errors  Refusal `data_folder_empty` if there is none, `data_folder_newer` if a later program has written it,
 *         `data_folder_damaged` if its file is shorter than its pages; those of LMDB if its file is damaged
 */
export async function openSnapshot(dataFolder: string): Promise<Snapshot> {
  const path = join(dataFolder, CONTROL_FOLDER);
  if (!(await stat(join(path, 'data.mdb')).catch(() => undefined))?.isFile()) {
    throw new Refusal('data_folder_empty', `${dataFolder} holds no control state of an appliance.`);
  }
  requireControlState(dataFolder);
  const snapshot = new Snapshot(open({ path, maxDbs: 64, encoding: 'binary', readOnly: true }));
  try {
    const stored = snapshot.get(SETTINGS_TABLE, VERSION_KEY);
    requireReadable(versionOf(stored && (JSON.parse(stored.toString()) as string)), dataFolder);
    return snapshot;
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}
