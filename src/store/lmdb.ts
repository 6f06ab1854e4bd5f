import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';

/** The control state's place below the data folder. */
export const CONTROL_FOLDER = 'control';

export type Table<Value> = Database<Value, string>;

/** The appliance's control state: one LMDB environment, one owner file of this folder per table. */
export interface Store {
  table<Value>(name: string): Table<Value>;
  /** A table of bytes: what is packed already. */
  bytes(name: string): Table<Buffer>;
  /** All writes inside commit together, durably, or not at all; reads inside see the writes before them. */
  transaction<Result>(work: () => Result): Promise<Result>;
  /** Grows with every commit, of this process or another. */
  version(): number;
  /** The next read sees all that `version` counts; otherwise reads of one turn of the event loop see one state. */
  refresh(): void;
  close(): Promise<void>;
}

/**
 * Opens (and creates) the control state below the data folder.
 * Several processes may hold it open at once: LMDB serialises their writers.
 * Errors  Fault-like errors of the file system and of LMDB, with their own messages
 */
export function openStore(dataFolder: string): Store {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const root: RootDatabase<unknown, string> = open({
    path: join(dataFolder, CONTROL_FOLDER),
    maxDbs: 64,
    encoding: 'json',
    // A commit is answered only when it is on disk: no reader, of this process or another, sees a state that a
    // power cut could take back.
    overlappingSync: false,
  });
  return {
    table: <Value>(name: string) => root.openDB<Value, string>({ name, encoding: 'json' }),
    bytes: (name: string) => root.openDB<Buffer, string>({ name, encoding: 'binary' }),
    transaction: (work) => root.transaction(work),
    version: () => (root.getStats() as { readonly lastTxnId: number }).lastTxnId,
    refresh: () => root.resetReadTxn(),
    close: () => root.close(),
  };
}
