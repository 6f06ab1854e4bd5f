import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import type { HomologyRelease } from '../../contract/search/databases.js';
import { SQL_SNAPSHOT_MIN_AGE_MS } from '../../limits.js';
import { writeRecordsSnapshot, writeReleaseSnapshot } from '../../sql/snapshot/snapshot.js';
import type { SqlRecords, SqlRelease, SqlWorld } from '../../sql/world.js';
import type { Catalog } from '../search/catalog.js';

export interface SqlWorldParts {
  readonly catalog: Catalog;
  readonly dataFolder: string;
  /** Folder of a release. */
  readonly releaseFolder: (slug: string, releaseId: string) => string;
  /** Grows with every change of the control state. */
  readonly storeVersion: () => number;
  /** Of every release in the catalog. */
  readonly releaseIds: () => readonly string[];
}

/** A world, and a name that changes with it. */
export interface NamedWorld {
  readonly key: string;
  readonly world: SqlWorld;
}

/** What each organization may read by SQL, as Parquet files beside the control state. */
export interface SqlWorlds {
  /**
   * The releases that the organization may see now, and its records of a moment ago. A release is copied when it is
   * first seen; one that cannot be read is left out, and reported.
   * Errors  Fault where the records cannot be written
   */
  worldOf(organizationId: string): Promise<NamedWorld>;
  /** Removes copies of releases that the catalog does not know. @param onFault told of what cannot be written */
  start(onFault: (error: unknown) => void): Promise<void>;
}

/** In the name of every copy: a change of its columns is another copy. */
const RELEASE_FORMAT = 1;
/** A release that could not be copied is tried again after so long. */
const FAILURE_PAUSE_MS = 60_000;
/** A snapshot is believed for so many times the time that it took: gathering takes a fifth of a core at most. */
const BELIEF_FACTOR = 4;

export function createSqlWorlds(parts: SqlWorldParts): SqlWorlds {
  const folder = join(parts.dataFolder, 'sql');
  let report: ((error: unknown) => void) | undefined;
  const copyRelease = createReleaseCopies(parts, folder, (error) => report?.(error));
  const recordsOf = createRecords(parts, folder);
  return {
    async worldOf(organizationId) {
      const listed = parts.catalog
        .databases(organizationId)
        .flatMap(({ slug }) => parts.catalog.releases(slug, organizationId));
      const [records, ...copied] = await Promise.all([recordsOf(organizationId), ...listed.map(copyRelease)]);
      const releases = copied.filter((release) => release !== undefined);
      const world = { organizationId, folder, releases, records };
      return { key: canonicalSha256(world), world };
    },
    async start(onFault) {
      report = onFault;
      const known = new Set(parts.releaseIds());
      const names = await readdir(join(folder, 'releases')).catch(() => []);
      const isKnown = (name: string): boolean => known.has(name.slice(0, name.indexOf('.')));
      const gone = names.filter((name) => !isKnown(name));
      await Promise.all(gone.map((name) => rm(join(folder, 'releases', name), { force: true })));
    },
  };
}

function createReleaseCopies(parts: SqlWorldParts, folder: string, onFault: (error: unknown) => void) {
  const writing = new Map<string, Promise<void>>();
  const failedAtMs = new Map<string, number>();
  const write = async (release: HomologyRelease, file: string): Promise<void> => {
    const { id, database_slug: slug } = release;
    try {
      await writeReleaseSnapshot({
        kind: 'release',
        directory: parts.releaseFolder(slug, id),
        fields: fieldsOf(release),
        path: join(folder, file),
      });
    } catch (error) {
      failedAtMs.set(id, performance.now());
      onFault(error);
    } finally {
      writing.delete(id);
    }
  };
  return async (release: HomologyRelease): Promise<SqlRelease | undefined> => {
    const { id } = release;
    const file = join('releases', `${id}.${RELEASE_FORMAT}.parquet`);
    const isThere = (): boolean => existsSync(join(folder, file));
    const failedAt = failedAtMs.get(id) ?? -Infinity;
    if (!isThere() && performance.now() - failedAt > FAILURE_PAUSE_MS) {
      const known = writing.get(id) ?? write(release, file);
      writing.set(id, known);
      await known;
    }
    return isThere() ? describeRelease(release, file) : undefined;
  };
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

/** Records are gathered anew where the control state has changed and those that are known are not quite fresh. */
function createRecords({ dataFolder, storeVersion }: SqlWorldParts, folder: string) {
  const known = new Map<string, KnownRecords>();
  const gathering = new Map<string, Promise<SqlRecords>>();
  const gather = async (organizationId: string): Promise<SqlRecords> => {
    const takenAtMs = performance.now();
    const version = storeVersion();
    try {
      const records = await writeRecordsSnapshot({ kind: 'records', dataFolder, organizationId, folder });
      const costMs = performance.now() - takenAtMs;
      known.set(organizationId, { records, storeVersion: version, takenAtMs, costMs });
      return records;
    } finally {
      gathering.delete(organizationId);
    }
  };
  return async (organizationId: string): Promise<SqlRecords> => {
    const last = known.get(organizationId);
    if (last !== undefined && isFresh(last, storeVersion())) return last.records;
    const begun = gathering.get(organizationId) ?? gather(organizationId);
    gathering.set(organizationId, begun);
    return begun;
  };
}

function isFresh({ storeVersion, takenAtMs, costMs }: KnownRecords, version: number): boolean {
  const age = performance.now() - takenAtMs;
  return version === storeVersion || age < Math.max(SQL_SNAPSHOT_MIN_AGE_MS, BELIEF_FACTOR * costMs);
}
