import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { open, type Database } from 'lmdb';
import { Fault } from '../errors.js';
import { realWorld, type World } from '../world.js';
import { attendToCommits, failureOfTransaction } from './failed-commits.js';
import type { ControlRoot } from './migrations.js';
import { Place } from './place.js';
import { CONTROL_FILE, CONTROL_FOLDER, prepareDataFolder } from './prepare.js';
import { ControlReserve } from './reserve.js';
import { keyFrom, sealText, unsealText } from './sealing.js';
import { openSecretKey } from './secret-key.js';
import { storageUnavailable } from './unavailable.js';
import { migrate, requireLatest, settingsOf } from './version.js';

export type Table<Value> = Database<Value, string>;

interface ControlStoreDependencies {
  readonly secretKey: Buffer;
  readonly place: Place;
  readonly reserve?: ControlReserve | undefined;
  /** Default realWorld. */
  readonly world?: World | undefined;
}

/** The appliance's control state: one LMDB environment, one owner file of this folder per table. */
export class ControlStore {
  /** Clock, ids and random bytes of the tables. */
  readonly world: World;
  readonly #root: ControlRoot;
  readonly #settings: Table<string>;
  readonly #secretKey: Buffer;
  readonly #place: Place;
  readonly #reserve: ControlReserve | undefined;
  /** Time and message of the last failed commit. The next successful commit clears it. */
  #failure: { readonly atMs: number; readonly message: string } | undefined;
  #askedAtMs = -Infinity;
  #isClosing = false;

  /** @param root at the latest version */
  constructor(root: ControlRoot, { secretKey, place, reserve, world = realWorld }: ControlStoreDependencies) {
    this.world = world;
    this.#root = root;
    this.#secretKey = secretKey;
    this.#settings = settingsOf(root);
    this.#place = place;
    this.#reserve = reserve;
  }

  table<Value>(name: string): Table<Value> {
    return this.#root.openDB<Value, string>({ name, encoding: 'json' });
  }

  /** Opens a table of bytes that are encoded already. */
  bytes(name: string): Table<Buffer> {
    return this.#root.openDB<Buffer, string>({ name, encoding: 'binary' });
  }

  /**
   * Commits all writes of `work` durably, or none of them. Reads inside `work` see the writes before them.
   * Errors  the error that the work throws; Refusal `storage_unavailable` if the disk accepts no write, or only writes
   *         that free space: then nothing has changed; Fault if a newer program has migrated the data meanwhile
   */
  transaction<Result>(work: () => Result): Promise<Result> {
    return this.#commit(() => {
      this.#reserve?.require();
      return work();
    });
  }

  /**
   * Checks whether additions are accepted now, for callers that write only after they have responded.
   * Errors  Refusal `storage_unavailable` if additions are refused now
   */
  requireRoom(): void {
    const problem = this.problem();
    if (problem !== undefined) throw storageUnavailable(`Nothing can be recorded: ${problem}`);
  }

  /**
   * Seals a text, which the control state or a backup alone cannot reveal.
   * @param name  name of the value; unsealing requires the same name
   */
  seal(text: string, name: string): string {
    return sealText(this.#secretKey, text, name);
  }

  /** Unseals a text. Errors  Fault if it was changed or sealed under another name */
  unseal(sealed: string, name: string): string {
    return unsealText(this.#secretKey, sealed, name);
  }

  /** Derives a key for one purpose from the appliance's key and, optionally, a secret of the caller. */
  keyFor(purpose: string, salt: string, secret = ''): Buffer {
    return keyFrom(Buffer.concat([this.#secretKey, Buffer.from(secret)]), salt, purpose);
  }

  /** Runs a transaction that removes more than it adds. On a full disk it may use the reserve. */
  freeing<Result>(work: () => Result): Promise<Result> {
    return this.#commit(work);
  }

  /** Message that says why nothing can be written at the moment. undefined if writing works. */
  problem(): string | undefined {
    const place = this.#place.problem();
    if (place !== undefined) return `the data folder is lost: ${place}`;
    const { atMs, message } = this.#failure ?? { atMs: -Infinity, message: '' };
    const isRecent = this.world.monotonicMs() - atMs < FAILURE_MEMORY_MS;
    if (!isRecent && this.#reserve?.isShort !== true) return undefined;
    this.#lookAgain();
    return isRecent ? message : 'the disk is full: only what frees room is taken';
  }

  async #commit<Result>(work: () => Result): Promise<Result> {
    if (this.#isClosing) throw new Fault('The control state is closed.');
    try {
      // LMDB's transaction holds the work of many callers. A child transaction is rolled back without the others.
      const result = await this.#root.childTransaction(() => {
        this.#place.require();
        requireLatest(this.#settings);
        this.#reserve?.look();
        return work();
      });
      this.#failure = undefined;
      return result;
    } catch (error) {
      const failure = await failureOfTransaction(error);
      if (failure !== error && failure instanceof Error) {
        this.#failure = { atMs: this.world.monotonicMs(), message: failure.message };
      }
      throw failure;
    }
  }

  /** Without this check, an idle server would not notice that the disk has space again. */
  #lookAgain(): void {
    if (this.world.monotonicMs() - this.#askedAtMs < LOOK_AGAIN_MS) return;
    this.#askedAtMs = this.world.monotonicMs();
    // The transaction stores its failure, which `problem` returns.
    void this.transaction(() => undefined).catch(() => undefined);
  }

  /** Grows with every commit, of this process or another. */
  commitNumber(): number {
    return (this.#root.getStats() as { readonly lastTxnId: number }).lastTxnId;
  }

  /** Makes the next read see all commits up to `commitNumber`. Otherwise reads of one event-loop turn see one state. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** Closes after the commits that are under way. From the call on, transactions are refused. Errors  none */
  async close(): Promise<void> {
    this.#isClosing = true;
    // LMDB aborts its read transaction before it waits for commits. A read in between would fail in a timer of LMDB,
    // where no caller can catch the error, and would end the process. A turn of the event loop of its own lets those
    // who waited for the same commits read first.
    await this.#root.flushed.then(ignore, ignore);
    await immediate();
    await this.#root.close();
  }
}

/** Callers of failed commits have their own errors. */
const ignore = (): void => undefined;

/** Bound on the failed state of readiness: a load balancer that routes by it would keep away the writes that end it. */
const FAILURE_MEMORY_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;

export interface OpenOptions {
  /** Default true. A process that works for a server expects the version that the server has set. */
  readonly mayMigrate?: boolean;
  /** Holds disk space in reserve for the control state. Default false; true in the server. */
  readonly hasReserve?: boolean;
  /** Default realWorld. */
  readonly world?: World;
  /** Default true. A simulation sets false: it has no power failures, so commits need not wait for the disk. */
  readonly isSynced?: boolean;
  /** Wraps LMDB and decides when commits happen and whether they fail. Default: no wrapper. */
  readonly through?: (root: ControlRoot) => ControlRoot;
}

/**
 * Opens (and creates) the control state below the data folder, at the version that this program writes. Several
 * processes may hold it open at once: LMDB serialises their writers.
 * Errors  Refusal `data_folder_newer`, `data_folder_damaged`, `data_folder_not_writable`, `secret_key_missing`; Fault
 *         if a migration fails, or is needed and not allowed; those of the file system and of LMDB, with their own
 *         messages
 */
export function openControlStore(
  dataFolder: string,
  {
    mayMigrate = true,
    hasReserve = false,
    world,
    isSynced = true,
    through = (root) => root,
  }: OpenOptions = {},
): ControlStore {
  prepareDataFolder(dataFolder);
  const path = join(dataFolder, CONTROL_FOLDER, CONTROL_FILE);
  const root: ControlRoot = open({
    path: join(dataFolder, CONTROL_FOLDER),
    maxDbs: 64,
    encoding: 'json',
    // A commit resolves only after it is on disk. No reader of any process sees a state that a power cut could undo.
    overlappingSync: false,
    noSync: !isSynced,
  });
  attendToCommits(root);
  try {
    chmodSync(path, 0o600);
    if (mayMigrate) migrate(root, dataFolder);
    else requireLatest(settingsOf(root));
    return new ControlStore(through(root), {
      secretKey: openSecretKey(root, dataFolder),
      place: new Place([dataFolder, path]),
      reserve: hasReserve ? new ControlReserve(root, path) : undefined,
      world,
    });
  } catch (error) {
    void root.close();
    throw error;
  }
}
