import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database } from 'lmdb';
import { realWorld, type World } from '../world.js';
import type { ControlRoot } from './migrations.js';
import { keyFrom, sealText, unsealText } from './sealing.js';
import { openSecretKey } from './secret-key.js';
import { migrate, requireLatest, settingsOf } from './version.js';

/** The control state's place below the data folder. */
export const CONTROL_FOLDER = 'control';

export type Table<Value> = Database<Value, string>;

/** The appliance's control state: one LMDB environment, one owner file of this folder per table. */
export class ControlStore {
  /** Where its tables take ids and secrets from. */
  readonly world: World;
  readonly #root: ControlRoot;
  readonly #settings: Table<string>;
  readonly #secretKey: Buffer;

  /** @param root at the latest version */
  constructor(root: ControlRoot, secretKey: Buffer, world = realWorld) {
    this.world = world;
    this.#root = root;
    this.#secretKey = secretKey;
    this.#settings = settingsOf(root);
  }

  table<Value>(name: string): Table<Value> {
    return this.#root.openDB<Value, string>({ name, encoding: 'json' });
  }

  /** A table of bytes: what is packed already. */
  bytes(name: string): Table<Buffer> {
    return this.#root.openDB<Buffer, string>({ name, encoding: 'binary' });
  }

  /**
   * All writes inside commit together, durably, or not at all; reads inside see the writes before them.
   * Errors  what the work throws; Fault where a newer program has migrated the data meanwhile
   */
  transaction<Result>(work: () => Result): Promise<Result> {
    // A child of LMDB's transaction, which holds the work of many: the others go on where this one is taken back.
    return this.#root.childTransaction(() => {
      requireLatest(this.#settings);
      return work();
    });
  }

  /** Text that whoever has the control state or a backup cannot read. @param name what it is, bound to it */
  seal(text: string, name: string): string {
    return sealText(this.#secretKey, text, name);
  }

  /** Errors  Fault where it was changed, or is not what the name says */
  unseal(sealed: string, name: string): string {
    return unsealText(this.#secretKey, sealed, name);
  }

  /** A key for one purpose, which takes this appliance's key and, where there is one, a secret of somebody else. */
  keyFor(purpose: string, salt: string, secret = ''): Buffer {
    return keyFrom(Buffer.concat([this.#secretKey, Buffer.from(secret)]), salt, purpose);
  }

  /** Grows with every commit, of this process or another. */
  commitNumber(): number {
    return (this.#root.getStats() as { readonly lastTxnId: number }).lastTxnId;
  }

  /** The next read sees all that `commitNumber` counts; otherwise reads of one turn of the event loop see one state. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}

export interface OpenOptions {
  /** Default true. A process that works for a server takes the data as that left it. */
  readonly mayMigrate?: boolean;
  /** Default realWorld. */
  readonly world?: World;
  /** Default true. Where no power fails, as in a simulation, commits need not wait for the disk. */
  readonly isSynced?: boolean;
  /** What stands before LMDB and decides when commits happen, and whether they fail. Default: nothing. */
  readonly through?: (root: ControlRoot) => ControlRoot;
}

/**
 * Opens (and creates) the control state below the data folder, at the version that this program writes.
 * Several processes may hold it open at once: LMDB serialises their writers.
 * Errors  Refusal `data_folder_newer`, `secret_key_missing`; Fault where a migration fails, or is needed and not
 *         allowed; those of the file system and of LMDB, with their own messages
 */
export function openControlStore(
  dataFolder: string,
  { mayMigrate = true, world, isSynced = true, through = (root) => root }: OpenOptions = {},
): ControlStore {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const root: ControlRoot = open({
    path: join(dataFolder, CONTROL_FOLDER),
    maxDbs: 64,
    encoding: 'json',
    // A commit is answered only when it is on disk: no reader, of this process or another, sees a state that a
    // power cut could take back.
    overlappingSync: false,
    noSync: !isSynced,
  });
  try {
    if (mayMigrate) migrate(root, dataFolder);
    else requireLatest(settingsOf(root));
    return new ControlStore(through(root), openSecretKey(root, dataFolder), world);
  } catch (error) {
    void root.close();
    throw error;
  }
}
