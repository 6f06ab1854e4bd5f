import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import type { HomologyRelease } from '../../contract/search/databases.js';
import { SQL_SNAPSHOT_MIN_AGE_MS } from '../../limits.js';
import { writeRecordsSnapshot, writeReleaseSnapshot } from '../../sql/snapshot/snapshot.js';
import type { SqlRecords, SqlRelease, SqlTables } from '../../sql/tables.js';
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

  /** Removes copies of releases that are not in the catalog. @param onFault called for failures. Errors  none */
  async start(onFault: (error: unknown) => void): Promise<void> {
    this.#report = onFault;
    const releaseIds = new Set(this.#dependencies.releaseIds());
    const folder = join(this.#folder, 'releases');
    const names = await readdir(folder).catch(() => []);
    const isKnown = (name: string): boolean => releaseIds.has(name.slice(0, name.indexOf('.')));
    const obsolete = names.filter((name) => !isKnown(name));
    await Promise.all(obsolete.map((name) => rm(join(folder, name), { force: true }).catch(onFault)));
  }
}

/** Releases as Parquet files. Each is written once, even for concurrent callers. */
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

  /** undefined if the release cannot be copied. Errors  Refusal `storage_unavailable` */
  async of(release: HomologyRelease): Promise<SqlRelease | undefined> {
    const { id } = release;
    const file = join('releases', `${id}.${RELEASE_FORMAT}.parquet`);
    const isThere = (): boolean => existsSync(join(this.#folder, file));
    const failedAt = this.#failedAtMs.get(id) ?? -Infinity;
    if (!isThere() && performance.now() - failedAt > FAILURE_PAUSE_MS) {
      const copying = this.#writing.get(id) ?? this.#write(release, file);
      this.#writing.set(id, copying);
      await copying;
    }
    return isThere() ? describeRelease(release, file) : undefined;
  }

  async #write(release: HomologyRelease, file: string): Promise<void> {
    const { id, database_slug: slug } = release;
    try {
      await writeReleaseSnapshot({
        kind: 'release',
        directory: this.#releaseFolder(slug, id),
        fields: fieldsOf(release),
        path: join(this.#folder, file),
      });
    } catch (error) {
      // The release is valid, and can be copied once there is space. A response without it would be wrong.
      if (isStorageUnavailable(error)) throw error;
      this.#failedAtMs.set(id, performance.now());
      this.#onFault(error);
    } finally {
      this.#writing.delete(id);
    }
  }
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
