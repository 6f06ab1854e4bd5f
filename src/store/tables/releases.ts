import { databaseId } from '../../ids.js';
import type { ControlStore } from '../control-store.js';

/** A catalog entry: a name under which releases are published. */
export interface DatabaseRow {
  readonly slug: string;
  /** `db_…`, derived from the slug. */
  readonly id: string;
  readonly defaultReleaseId: string;
  /** Organizations that may see it; absent = shared by all. */
  readonly organizationIds?: readonly string[];
}

/**
 * A published release. Its directory is `<indexes>/<slug>/<id>`; the manifest there is the truth, and the copy here
 * spares opening it for a listing.
 */
export interface ReleaseRow<Manifest = unknown> {
  /** `dbr_…`. */
  readonly id: string;
  readonly slug: string;
  readonly publishedAt: string;
  readonly manifest: Manifest;
  /** `calib_…` of the calibration that was last put beside it; servers open it anew when this changes. */
  readonly calibrationId?: string;
}

/** Databases by slug, releases by id and slug, and the database that is searched when a request names none. */
export interface ReleaseTable<Manifest = unknown> {
  databases(): readonly DatabaseRow[];
  database(idOrSlug: string): DatabaseRow | undefined;
  /** Newest first. */
  releases(slug: string): readonly ReleaseRow<Manifest>[];
  /** One row for each database that holds this release: equal content has one id under every name. */
  holders(releaseId: string): readonly ReleaseRow<Manifest>[];
  /** The release as this database holds it. */
  release(releaseId: string, slug: string): ReleaseRow<Manifest> | undefined;
  /** The server-advertised default database. */
  defaultDatabase(): DatabaseRow | undefined;
  /**
   * Adds a release and makes it the default of its database; the first database becomes the server's default.
   * A release that is known keeps its time of publication.
   */
  publish(row: ReleaseRow<Manifest>): Promise<void>;
  /** Names the calibration that now lies beside a release. False where the database does not hold the release. */
  nameCalibration(releaseId: string, slug: string, calibrationId: string): Promise<boolean>;
  /** False where there is no such database. */
  setDefaultDatabase(slug: string): Promise<boolean>;
  /** Shares a database with these organizations only, or with all where undefined. False where there is none. */
  share(slug: string, organizationIds: readonly string[] | undefined): Promise<boolean>;
  /** Takes a release out; the newest that is left becomes the default, and a database without releases goes. */
  remove(releaseId: string, slug: string): Promise<boolean>;
}

/** What takes part in the transactions of releases: what follows from a change is written beside it. */
export interface ReleaseObservers {
  /** A database has a release that it had not. */
  onPublished(release: ReleaseRow, database: DatabaseRow): void;
  onRemoved(releaseId: string, slug: string): void;
}

const DEFAULT_DATABASE = 'default-database';

export function releaseTable<Manifest>(
  store: ControlStore,
  observers?: ReleaseObservers,
): ReleaseTable<Manifest> {
  const databases = store.table<DatabaseRow>('databases');
  const releases = store.table<ReleaseRow<Manifest>>('releases');
  const settings = store.table<string>('settings');

  const releasesOf = (slug: string): readonly ReleaseRow<Manifest>[] =>
    [...releases.getRange().map(({ value }) => value)].filter((row) => row.slug === slug).sort(newestFirst);
  // Every search asks for the holders of its release, and most ask between two commits.
  const known = { version: -1, holders: new Map<string, readonly ReleaseRow<Manifest>[]>() };
  const holdersOf = (releaseId: string): readonly ReleaseRow<Manifest>[] => {
    const version = store.commitNumber();
    if (version !== known.version) {
      known.holders.clear();
      known.version = version;
      store.refresh();
    }
    const rows =
      known.holders.get(releaseId) ??
      [...releases.getRange({ start: `${releaseId} `, end: `${releaseId}!` })].map(({ value }) => value);
    // Of those that exist only: anybody can ask for others without end.
    if (rows.length > 0) known.holders.set(releaseId, rows);
    return rows;
  };
  const all = (): readonly DatabaseRow[] => [...databases.getRange().map(({ value }) => value)];

  return {
    databases: all,
    database: (idOrSlug) => databases.get(idOrSlug) ?? all().find((row) => row.id === idOrSlug),
    releases: releasesOf,
    holders: holdersOf,
    release: (releaseId, slug) => releases.get(keyOf(releaseId, slug)),
    defaultDatabase() {
      const slug = settings.get(DEFAULT_DATABASE);
      return slug === undefined ? undefined : databases.get(slug);
    },
    publish: (row) =>
      store.transaction(() => {
        const key = keyOf(row.id, row.slug);
        const isNew = releases.get(key) === undefined;
        if (isNew) releases.putSync(key, row);
        const database: DatabaseRow = {
          id: databaseId(row.slug),
          slug: row.slug,
          ...databases.get(row.slug),
          defaultReleaseId: row.id,
        };
        databases.putSync(row.slug, database);
        if (isNew) observers?.onPublished(row, database);
        if (settings.get(DEFAULT_DATABASE) === undefined) settings.putSync(DEFAULT_DATABASE, row.slug);
      }),
    nameCalibration: (releaseId, slug, calibrationId) =>
      store.transaction(() => {
        const key = keyOf(releaseId, slug);
        const row = releases.get(key);
        if (row === undefined) return false;
        releases.putSync(key, { ...row, calibrationId });
        return true;
      }),
    setDefaultDatabase: (slug) =>
      store.transaction(() => {
        if (databases.get(slug) === undefined) return false;
        settings.putSync(DEFAULT_DATABASE, slug);
        return true;
      }),
    share: (slug, organizationIds) =>
      store.transaction(() => {
        const row = databases.get(slug);
        if (row === undefined) return false;
        const { organizationIds: _, ...rest } = row;
        databases.putSync(slug, organizationIds === undefined ? rest : { ...rest, organizationIds });
        return true;
      }),
    remove: (releaseId, slug) =>
      store.transaction(() => {
        const key = keyOf(releaseId, slug);
        const database = databases.get(slug);
        if (releases.get(key) === undefined || database === undefined) return false;
        releases.removeSync(key);
        observers?.onRemoved(releaseId, slug);
        const [newest] = releasesOf(slug);
        if (newest === undefined) {
          databases.removeSync(slug);
          if (settings.get(DEFAULT_DATABASE) === slug) settings.removeSync(DEFAULT_DATABASE);
        } else if (database.defaultReleaseId === releaseId) {
          databases.putSync(slug, { ...database, defaultReleaseId: newest.id });
        }
        return true;
      }),
  };
}

/** A blank sorts before every letter of an id, so that the rows of one release stand together. */
function keyOf(releaseId: string, slug: string): string {
  return `${releaseId} ${slug}`;
}

function newestFirst(a: ReleaseRow, b: ReleaseRow): number {
  if (a.publishedAt !== b.publishedAt) return a.publishedAt < b.publishedAt ? 1 : -1;
  return a.id < b.id ? -1 : 1;
}
