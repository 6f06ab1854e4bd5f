import type { HomologyDatabase, HomologyRelease } from '../../contract/search/databases.js';
import type { Provenance } from '../../contract/grammar/envelope.js';
import { assert, Refusal } from '../../errors.js';
import {
  FILTER_MAX_CLAUSES,
  FILTER_MAX_DEPTH,
  FILTER_MAX_SUBSTRINGS,
  FILTER_MAX_VALUES,
  FILTER_VALUE_MAX_CHARACTERS,
} from '../../limits.js';
import { operatorsOf } from '../../release/filter/operators.js';
import type { ReleaseManifest } from '../../release/release.js';
import type { DatabaseRow, ReleaseRow, ReleaseTable } from '../../store/tables/releases.js';

/** A release that an organization may search, with its database. */
export interface CatalogRelease {
  readonly releaseId: string;
  readonly databaseId: string;
  readonly slug: string;
  readonly manifest: ReleaseManifest;
}

/** Databases and releases that one organization sees. */
export interface Catalog {
  /**
   * Default release of a database by id or slug, or of the server's default database.
   * Errors  Refusal `database_not_found`, `default_database_not_set`, `permission_denied`
   */
  defaultRelease(database: string | undefined, organizationId: string): CatalogRelease;
  /**
   * @param param member of the request that names the release, for the refusal
   * Errors  Refusal `release_not_found`, `permission_denied`
   */
  release(releaseId: string, organizationId: string, param?: string): CatalogRelease;
  /**
   * Refuses a release that only other organizations may see now. A deleted release passes. Errors  Refusal
   * `permission_denied`
   */
  requireGrant(releaseId: string, organizationId: string): void;
  /** The release; undefined if this organization has none with the id. */
  find(releaseId: string, organizationId: string): CatalogRelease | undefined;
  /** By slug. */
  databases(organizationId: string): readonly HomologyDatabase[];
  /** Newest first. Errors  Refusal `database_not_found`, `permission_denied` */
  releases(database: string, organizationId: string): readonly HomologyRelease[];
}

export function createCatalog(table: ReleaseTable<ReleaseManifest>): Catalog {
  const databaseNamed = (idOrSlug: string, organizationId: string): DatabaseRow => {
    const row = table.database(idOrSlug);
    if (row !== undefined) return visible(row, organizationId);
    throw new Refusal(
      'database_not_found',
      `No database has the id or slug "${idOrSlug}". GET /v1/homology/databases lists those there are.`,
      { param: 'database' },
    );
  };
  const find = (releaseId: string, organizationId: string): CatalogRelease | undefined => {
    for (const row of table.holders(releaseId)) {
      const database = table.database(row.slug);
      if (database !== undefined && isVisible(database, organizationId)) return entryOf(database, row);
    }
    return undefined;
  };
  const release = (
    releaseId: string,
    organizationId: string,
    param = 'database_release_id',
  ): CatalogRelease => {
    const release = find(releaseId, organizationId);
    if (release !== undefined) return release;
    if (table.holders(releaseId).length === 0)
      throw new Refusal('release_not_found', `No release has the id ${releaseId}.`, { param });
    throw new Refusal('permission_denied', 'The release is private to other organizations.');
  };
  return {
    find,
    defaultRelease(selector, organizationId) {
      const row = selector === undefined ? table.defaultDatabase() : databaseNamed(selector, organizationId);
      if (row === undefined) {
        throw new Refusal(
          'default_database_not_set',
          'The request names no database and the server has no default one. Name a database, or set a default ' +
            'with "gloaming index default <slug>".',
          { param: 'database' },
        );
      }
      return entryOf(visible(row, organizationId), defaultOf(row, table));
    },
    release,
    requireGrant(releaseId, organizationId) {
      if (table.holders(releaseId).length > 0) release(releaseId, organizationId);
    },
    databases: (organizationId) =>
      table
        .databases()
        .filter((row) => isVisible(row, organizationId))
        .map((row) => presentDatabase(row, table)),
    releases(selector, organizationId) {
      const database = databaseNamed(selector, organizationId);
      return table.releases(database.slug).map((row) => presentRelease(row, database));
    },
  };
}

/** A release in the form that provenance has. */
export function releaseSnapshot(
  entry: Pick<CatalogRelease, 'releaseId' | 'slug'>,
): Provenance['database_snapshots'][number] {
  return {
    name: entry.slug,
    version: entry.releaseId,
    digest: `sha256:${entry.releaseId.slice('dbr_'.length)}`,
    kind: 'homology_release',
  };
}

function visible(row: DatabaseRow, organizationId: string): DatabaseRow {
  if (isVisible(row, organizationId)) return row;
  throw new Refusal('permission_denied', 'The database is private to other organizations.');
}

function isVisible(row: DatabaseRow, organizationId: string): boolean {
  return row.organizationIds === undefined || row.organizationIds.includes(organizationId);
}

function defaultOf(row: DatabaseRow, table: ReleaseTable<ReleaseManifest>): ReleaseRow<ReleaseManifest> {
  const release = table.release(row.defaultReleaseId, row.slug);
  assert(release !== undefined, 'a database and its default release are written in one transaction');
  return release;
}

function entryOf(database: DatabaseRow, release: ReleaseRow<ReleaseManifest>): CatalogRelease {
  return { releaseId: release.id, databaseId: database.id, slug: database.slug, manifest: release.manifest };
}

function presentDatabase(row: DatabaseRow, table: ReleaseTable<ReleaseManifest>): HomologyDatabase {
  const { manifest } = defaultOf(row, table);
  return {
    object: 'homology_database',
    id: row.id,
    slug: row.slug,
    title: manifest.title,
    description: manifest.description,
    is_default: table.defaultDatabase()?.slug === row.slug,
    is_simulated: manifest.is_simulated,
    default_release_id: row.defaultReleaseId,
    release_count: table.releases(row.slug).length,
  };
}

function presentRelease(
  { id, publishedAt, manifest }: ReleaseRow<ReleaseManifest>,
  row: DatabaseRow,
): HomologyRelease {
  return {
    object: 'homology_database_release',
    id,
    database_id: row.id,
    database_slug: row.slug,
    is_default: row.defaultReleaseId === id,
    published_at: publishedAt,
    title: manifest.title,
    description: manifest.description,
    is_simulated: manifest.is_simulated,
    corpus_snapshot_id: manifest.corpus_snapshot_id,
    normalization_id: manifest.normalization_id,
    encoder_id: manifest.encoder.id,
    encoder_sha256: manifest.encoder.sha256,
    dimension: manifest.encoder.dimension,
    target_count: manifest.counts.targets,
    residue_count: manifest.counts.residues,
    filter_schema_id: manifest.filter_schema.id,
    filter_fields: manifest.filter_schema.fields.map((field) => ({
      ...field,
      operators: operatorsOf(field.type, field.is_taxonomy),
    })),
    filter_limits: {
      maximum_depth: FILTER_MAX_DEPTH,
      maximum_clauses: FILTER_MAX_CLAUSES,
      maximum_values: FILTER_MAX_VALUES,
      maximum_substring_values: FILTER_MAX_SUBSTRINGS,
      maximum_value_characters: FILTER_VALUE_MAX_CHARACTERS,
    },
  };
}
