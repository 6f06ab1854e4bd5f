import { databaseId } from '../../ids.js';
import type { ControlStore, Table } from '../control-store.js';
import { SETTINGS_TABLE } from '../version.js';

/** A catalog entry: a name under which releases are published. */
export interface DatabaseRow {
  readonly slug: string;
  /** `db_…`, derived from the slug. */
  readonly id: string;
  readonly defaultReleaseId: string;
  /** Organizations that may see it; absent = all. */
  readonly organizationIds?: readonly string[];
}

/**
 * A published release. Its directory is `<indexes>/<slug>/<id>`. The manifest there is authoritative, and the copy here
 * makes listings fast.
 */
export interface ReleaseRow<Manifest = unknown> {
  /** `dbr_…`. */
  readonly id: string;
  readonly slug: string;
  readonly publishedAt: string;
  readonly manifest: Manifest;
  /** `calib_…` of the latest calibration beside it. Servers reopen it when this changes. */
  readonly calibrationId?: string;
  /** `qual_…` of the card of its approximate policy. Servers reopen it when this changes. */
  readonly qualificationId?: string;
}

/** Observers that write in the transactions of releases. */
export interface ReleaseObservers {
  /** Called when a database gets a release that it did not have. */
  onPublished(release: ReleaseRow, database: DatabaseRow): void;
  onRemoved(releaseId: string, slug: string): void;
}

const DEFAULT_DATABASE = 'default-database';
/** Setting with the slug of a default database that the next database replaces. */
const PROVISIONAL_DEFAULT = 'provisional-default-database';

/** Databases by slug, releases by id and slug, and the database that is searched when a request names none. */
export class ReleaseTable<Manifest = unknown> {
  readonly #store: ControlStore;
  readonly #observers: ReleaseObservers | undefined;
  readonly #databases: Table<DatabaseRow>;
  readonly #releases: Table<ReleaseRow<Manifest>>;
  readonly #settings: Table<string>;
  /** Cached holders by release. Every search reads the holders of its release, mostly between two commits. */
  readonly #holders = new Map<string, readonly ReleaseRow<Manifest>[]>();
  #holdersAt = -1;

  constructor(store: ControlStore, observers?: ReleaseObservers) {
    this.#store = store;
    this.#observers = observers;
    this.#databases = store.table<DatabaseRow>('databases');
    this.#releases = store.table<ReleaseRow<Manifest>>('releases');
    this.#settings = store.table<string>(SETTINGS_TABLE);
  }

  databases(): readonly DatabaseRow[] {
    return [...this.#databases.getRange().map(({ value }) => value)];
  }

  database(idOrSlug: string): DatabaseRow | undefined {
    return this.#databases.get(idOrSlug) ?? this.databases().find((row) => row.id === idOrSlug);
  }

  /** Releases of one database, newest first. */
  releases(slug: string): readonly ReleaseRow<Manifest>[] {
    return this.allReleases()
      .filter((row) => row.slug === slug)
      .sort(newestFirst);
  }

  /** Releases of all databases. */
  allReleases(): ReleaseRow<Manifest>[] {
    return [...this.#releases.getRange().map(({ value }) => value)];
  }

  /** One row for each database that holds this release. Equal content has one id in all databases. */
  holders(releaseId: string): readonly ReleaseRow<Manifest>[] {
    const commit = this.#store.commitNumber();
    if (commit !== this.#holdersAt) {
      this.#holders.clear();
      this.#holdersAt = commit;
      this.#store.refresh();
    }
    const cached = this.#holders.get(releaseId);
    if (cached !== undefined) return cached;
    const range = { start: `${releaseId} `, end: `${releaseId}!` };
    const rows = [...this.#releases.getRange(range)].map(({ value }) => value);
    // Only existing releases are cached, because requests may name any number of absent ones.
    if (rows.length > 0) this.#holders.set(releaseId, rows);
    return rows;
  }

  /** The release in this database. */
  release(releaseId: string, slug: string): ReleaseRow<Manifest> | undefined {
    return this.#releases.get(keyOf(releaseId, slug));
  }

  /** The default database of the server. */
  defaultDatabase(): DatabaseRow | undefined {
    const slug = this.#settings.get(DEFAULT_DATABASE);
    return slug === undefined ? undefined : this.#databases.get(slug);
  }

  /**
   * Adds a release, and makes it the default of its database unless `isDefault` is false. The first database becomes
   * the server's default. A release that exists keeps its time of publication.
   * @param isProvisional  whether the next new database replaces this one as the server's default
   */
  publish(row: ReleaseRow<Manifest>, { isDefault = true, isProvisional = false } = {}): Promise<void> {
    return this.#store.transaction(() => {
      const key = keyOf(row.id, row.slug);
      const isNew = this.#releases.get(key) === undefined;
      if (isNew) this.#releases.putSync(key, row);
      const standing = this.#databases.get(row.slug);
      const database: DatabaseRow = {
        id: databaseId(row.slug),
        slug: row.slug,
        ...standing,
        defaultReleaseId: isDefault || standing === undefined ? row.id : standing.defaultReleaseId,
      };
      this.#databases.putSync(row.slug, database);
      if (isNew) this.#observers?.onPublished(row, database);
      const serverDefault = this.#settings.get(DEFAULT_DATABASE);
      const isReplaced = standing === undefined && serverDefault === this.#settings.get(PROVISIONAL_DEFAULT);
      if (serverDefault === undefined || isReplaced) this.#putDefault(row.slug, isProvisional);
    });
  }

  /** To be called in a transaction. */
  #putDefault(slug: string, isProvisional: boolean): void {
    this.#settings.putSync(DEFAULT_DATABASE, slug);
    if (isProvisional) this.#settings.putSync(PROVISIONAL_DEFAULT, slug);
    else this.#settings.removeSync(PROVISIONAL_DEFAULT);
  }

  /**
   * Sets the calibration of a release. The card of a policy belongs to the earlier calibration and is cleared. Returns
   * false if the database does not hold the release.
   */
  nameCalibration(releaseId: string, slug: string, calibrationId: string): Promise<boolean> {
    return this.#name(releaseId, slug, { calibrationId, qualificationId: undefined });
  }

  /** Sets the card of the approximate policy. Returns false if the database does not hold the release. */
  nameQualification(releaseId: string, slug: string, qualificationId: string): Promise<boolean> {
    return this.#name(releaseId, slug, { qualificationId });
  }

  #name(
    releaseId: string,
    slug: string,
    names: Pick<ReleaseRow<Manifest>, 'calibrationId' | 'qualificationId'>,
  ): Promise<boolean> {
    return this.#store.transaction(() => {
      const key = keyOf(releaseId, slug);
      const row = this.#releases.get(key);
      if (row === undefined) return false;
      this.#releases.putSync(key, { ...row, ...names });
      return true;
    });
  }

  /** Sets the server's default, which later databases do not replace. Returns false if there is no such database. */
  setDefaultDatabase(slug: string): Promise<boolean> {
    return this.#store.transaction(() => {
      if (this.#databases.get(slug) === undefined) return false;
      this.#putDefault(slug, false);
      return true;
    });
  }

  /** Shares a database with these organizations only, or with all if undefined. Returns false if there is none. */
  share(slug: string, organizationIds: readonly string[] | undefined): Promise<boolean> {
    return this.#store.transaction(() => {
      const row = this.#databases.get(slug);
      if (row === undefined) return false;
      const { organizationIds: _, ...rest } = row;
      this.#databases.putSync(slug, organizationIds === undefined ? rest : { ...rest, organizationIds });
      return true;
    });
  }

  /** Removes a release. The newest remaining one becomes the default. A database without releases is removed. */
  remove(releaseId: string, slug: string): Promise<boolean> {
    return this.#store.transaction(() => {
      const key = keyOf(releaseId, slug);
      const database = this.#databases.get(slug);
      if (this.#releases.get(key) === undefined || database === undefined) return false;
      this.#releases.removeSync(key);
      this.#observers?.onRemoved(releaseId, slug);
      const [newest] = this.releases(slug);
      if (newest === undefined) {
        this.#databases.removeSync(slug);
        for (const setting of [DEFAULT_DATABASE, PROVISIONAL_DEFAULT]) {
          if (this.#settings.get(setting) === slug) this.#settings.removeSync(setting);
        }
      } else if (database.defaultReleaseId === releaseId) {
        this.#databases.putSync(slug, { ...database, defaultReleaseId: newest.id });
      }
      return true;
    });
  }
}

/** A blank sorts before every letter of an id, so that the rows of one release are adjacent. */
function keyOf(releaseId: string, slug: string): string {
  return `${releaseId} ${slug}`;
}

function newestFirst(a: ReleaseRow, b: ReleaseRow): number {
  if (a.publishedAt !== b.publishedAt) return a.publishedAt < b.publishedAt ? 1 : -1;
  return a.id < b.id ? -1 : 1;
}
