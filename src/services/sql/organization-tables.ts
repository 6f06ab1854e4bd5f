import { existsSync, readdirSync, renameSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import type { HomologyRelease } from '../../contract/search/databases.js';
import { SQL_SNAPSHOT_MIN_AGE_MS } from '../../limits.js';
import { readNeighboursCard } from '../../neighbours/sidecar.js';
import {
  writeNeighboursSnapshot,
  writeRecordsSnapshot,
  writeReleaseSnapshot,
} from '../../sql/snapshot/snapshot.js';
import type { SqlNeighbours, SqlRecords, SqlRelease, SqlTables } from '../../sql/tables.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import type { Catalog } from '../search/catalog.js';

interface OrganizationTablesDependencies {
  readonly catalog: Catalog;
  readonly dataFolder: string;
  /** Folder of a release. */
  readonly releaseFolder: (slug: string, releaseId: string) => string;
  /** Increases with every change of the control state. */
  readonly storeVersion: () => number;
  /** Ids of every release in the catalog. */
  readonly releaseIds: () => readonly string[];
}

/** Tables of an organization, and a key that changes with them. */
export interface NamedTables {
  readonly key: string;
  readonly tables: SqlTables;
}

/** Part of the name of every copy. A change of its columns makes a new copy. */
const RELEASE_FORMAT = 1;
/** Part of the name of a copy of neighbours, before the digest of its edges. */
const NEIGHBOURS_MARK = 'neighbours-';
/** End of the name of a copy that is being removed. */
const GONE_SUFFIX = '.gone';
/** Pause before a failed copy of a release is tried again. */
const FAILURE_PAUSE_MS = 60_000;
/** A snapshot is valid for so many times the duration of its collection, which thus uses at most a fifth of a core. */
const VALIDITY_FACTOR = 4;

/** Tables that each organization may read by SQL, as Parquet files beside the control state. */
export class OrganizationTables {
  readonly #dependencies: OrganizationTablesDependencies;
  readonly #folder: string;
  readonly #copies: ReleaseCopies;
  readonly #records: RecordSnapshots;
  #report: ((error: unknown) => void) | undefined;

  constructor(dependencies: OrganizationTablesDependencies) {
    this.#dependencies = dependencies;
    this.#folder = join(dependencies.dataFolder, 'sql');
    const onFault = (error: unknown): void => this.#report?.(error);
    this.#copies = new ReleaseCopies(dependencies.releaseFolder, this.#folder, onFault);
    this.#records = new RecordSnapshots(dependencies, this.#folder);
  }

  /**
   * The releases that the organization may see now, and its recent records. A release is copied at its first use. An
   * unreadable release is left out and reported.
   * Errors  Fault if the records cannot be written; Refusal `storage_unavailable` if the disk accepts no write
   */
  async tablesOf(organizationId: string): Promise<NamedTables> {
    const { catalog } = this.#dependencies;
    const listed = catalog
      .databases(organizationId)
      .flatMap(({ slug }) => catalog.releases(slug, organizationId));
    const [records, ...copied] = await Promise.all([
      this.#records.of(organizationId),
      ...listed.map((release) => this.#copies.of(release)),
    ]);
    const releases = copied.filter((release) => release !== undefined);
    const tables = { organizationId, folder: this.#folder, releases, records };
    return { key: canonicalSha256(tables), tables };
  }

  /**
   * Removes copies of releases that are not in the catalog, and of replaced neighbours.
   * @param onFault called for failures
   * Errors  none
   */
  async start(onFault: (error: unknown) => void): Promise<void> {
    this.#report = onFault;
    const releaseIds = new Set(this.#dependencies.releaseIds());
    const folder = join(this.#folder, 'releases');
    const names = await readdir(folder).catch(() => []);
    const replaced = await replacedNeighbours(folder, names);
    const gone = names.filter((name) => !releaseIds.has(idOf(name)) || replaced.includes(name));
    await Promise.all(gone.map((name) => rm(join(folder, name), { force: true }).catch(onFault)));
  }

  /**
   * Removes copies of releases that are not in the catalog any more. It must be called while no statement runs or waits
   * for its tables: a later statement does not name these files. Failures are reported to the function of `start`.
   */
  removeUnlisted(): void {
    const folder = join(this.#folder, 'releases');
    // A copy in the making has a file that its process renames at the end.
    if (this.#copies.isWriting || !existsSync(folder)) return;
    const releaseIds = new Set(this.#dependencies.releaseIds());
    const onFault = (error: unknown): void => this.#report?.(error);
    for (const name of readdirSync(folder)) {
      if (releaseIds.has(idOf(name)) || name.endsWith(GONE_SUFFIX)) continue;
      const path = join(folder, name);
      try {
        // The name goes before any other task runs. The removal of a large file takes longer.
        renameSync(path, path + GONE_SUFFIX);
        void rm(path + GONE_SUFFIX, { force: true }).catch(onFault);
      } catch (error) {
        onFault(error);
      }
    }
  }
}

/** Releases and their neighbours as Parquet files. Each is written once, even for concurrent callers. */
class ReleaseCopies {
  readonly #releaseFolder: OrganizationTablesDependencies['releaseFolder'];
  readonly #folder: string;
  readonly #onFault: (error: unknown) => void;
  readonly #writing = new Map<string, Promise<void>>();
  readonly #failedAtMs = new Map<string, number>();

  constructor(
    releaseFolder: OrganizationTablesDependencies['releaseFolder'],
    folder: string,
    onFault: (error: unknown) => void,
  ) {
    this.#releaseFolder = releaseFolder;
    this.#folder = folder;
    this.#onFault = onFault;
  }

  get isWriting(): boolean {
    return this.#writing.size > 0;
  }

  /** undefined if the release cannot be copied. Errors  Refusal `storage_unavailable` */
  async of(release: HomologyRelease): Promise<SqlRelease | undefined> {
    const { id, database_slug: slug } = release;
    const directory = this.#releaseFolder(slug, id);
    const file = join('releases', `${id}.${RELEASE_FORMAT}.parquet`);
    const path = join(this.#folder, file);
    const job = { kind: 'release', directory, fields: fieldsOf(release), path } as const;
    if (!(await this.#copy(path, () => writeReleaseSnapshot(job)))) return undefined;
    const neighbours = await this.#neighboursOf(id, directory);
    return { ...describeRelease(release, file), ...(neighbours && { neighbours }) };
  }

  /** undefined if the release has no graph of neighbours, or one that cannot be copied. */
  async #neighboursOf(id: string, directory: string): Promise<SqlNeighbours | undefined> {
    const card = await readNeighboursCard(directory).catch(this.#onFault);
    if (!card) return undefined;
    const file = join('releases', `${id}.${NEIGHBOURS_MARK}${card.edges.sha256}.parquet`);
    const path = join(this.#folder, file);
    const isThere = await this.#copy(path, () =>
      writeNeighboursSnapshot({ kind: 'neighbours', directory, path }),
    );
    return isThere ? { calibrationId: card.calibration_id, file } : undefined;
  }

  /** Writes a file unless it exists or has failed a moment ago. Returns whether it exists. */
  async #copy(path: string, write: () => Promise<void>): Promise<boolean> {
    const failedAt = this.#failedAtMs.get(path) ?? -Infinity;
    if (!existsSync(path) && performance.now() - failedAt > FAILURE_PAUSE_MS) {
      const known = this.#writing.get(path) ?? this.#write(path, write);
      this.#writing.set(path, known);
      await known;
    }
    return existsSync(path);
  }

  async #write(path: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      // The release is valid, and can be copied once there is space. A response without it would be wrong.
      if (isStorageUnavailable(error)) throw error;
      this.#failedAtMs.set(path, performance.now());
      this.#onFault(error);
    } finally {
      this.#writing.delete(path);
    }
  }
}

/** Returns the copies of neighbours that a later copy of the same release has replaced. */
async function replacedNeighbours(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const copies = await Promise.all(
    names
      .filter((name) => name.includes(`.${NEIGHBOURS_MARK}`))
      .map(async (name) => ({ name, id: idOf(name), writtenMs: (await stat(join(folder, name))).mtimeMs })),
  );
  return copies
    .filter((copy) => copies.some(({ id, writtenMs }) => id === copy.id && writtenMs > copy.writtenMs))
    .map(({ name }) => name);
}

/** Id of the release whose copy has this name. */
function idOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function fieldsOf({ filter_fields: fields }: HomologyRelease): SqlRelease['fields'] {
  return fields.map(({ name, type }) => ({ name, type }));
}

function describeRelease(release: HomologyRelease, file: string): SqlRelease {
  return {
    slug: release.database_slug,
    databaseId: release.database_id,
    releaseId: release.id,
    isDefault: release.is_default,
    isSimulated: release.is_simulated,
    title: release.title,
    description: release.description,
    encoderId: release.encoder_id,
    publishedAt: release.published_at,
    targetCount: release.target_count,
    residueCount: release.residue_count,
    fields: fieldsOf(release),
    file,
  };
}

interface KnownRecords {
  readonly records: SqlRecords;
  readonly storeVersion: number;
  readonly takenAtMs: number;
  readonly costMs: number;
}

/** Collects records again if the control state has changed and the cached ones are stale. */
class RecordSnapshots {
  readonly #dependencies: Pick<OrganizationTablesDependencies, 'dataFolder' | 'storeVersion'>;
  readonly #folder: string;
  readonly #snapshots = new Map<string, KnownRecords>();
  readonly #gathering = new Map<string, Promise<SqlRecords>>();

  constructor(
    dependencies: Pick<OrganizationTablesDependencies, 'dataFolder' | 'storeVersion'>,
    folder: string,
  ) {
    this.#dependencies = dependencies;
    this.#folder = folder;
  }

  async of(organizationId: string): Promise<SqlRecords> {
    const last = this.#snapshots.get(organizationId);
    if (last !== undefined && isFresh(last, this.#dependencies.storeVersion())) return last.records;
    const begun = this.#gathering.get(organizationId) ?? this.#gather(organizationId);
    this.#gathering.set(organizationId, begun);
    return begun;
  }

  async #gather(organizationId: string): Promise<SqlRecords> {
    const { dataFolder } = this.#dependencies;
    const folder = this.#folder;
    const takenAtMs = performance.now();
    const storeVersion = this.#dependencies.storeVersion();
    try {
      const records = await writeRecordsSnapshot({ kind: 'records', dataFolder, organizationId, folder });
      const costMs = performance.now() - takenAtMs;
      this.#snapshots.set(organizationId, { records, storeVersion, takenAtMs, costMs });
      return records;
    } finally {
      this.#gathering.delete(organizationId);
    }
  }
}

function isFresh({ storeVersion, takenAtMs, costMs }: KnownRecords, version: number): boolean {
  const age = performance.now() - takenAtMs;
  return version === storeVersion || age < Math.max(SQL_SNAPSHOT_MIN_AGE_MS, VALIDITY_FACTOR * costMs);
}
