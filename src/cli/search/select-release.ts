import { Refusal } from '../../errors.js';
import { databaseNotFound, existingDatabases } from '../../pipelines/catalog.js';
import type { ReleaseManifest } from '../../release/release.js';
import type { SearchedDatabase } from '../../services/search/present-search.js';
import type { ReleaseRow, ReleaseTable } from '../../store/tables/releases.js';

/**
 * Returns the release that a slug, a database id or a release id names; by default that of the default database. A
 * user of commands owns the appliance, so databases private to an organization are included.
 * Errors  Refusal `database_not_found`, `default_database_not_set`
 */
export function selectRelease(
  table: ReleaseTable<ReleaseManifest>,
  name: string | undefined,
): SearchedDatabase {
  const [holder]: readonly ReleaseRow<ReleaseManifest>[] = name?.startsWith('dbr_')
    ? table.holders(name)
    : [];
  const database = name === undefined ? table.defaultDatabase() : table.database(holder?.slug ?? name);
  if (database !== undefined) {
    const releaseId = holder?.id ?? database.defaultReleaseId;
    return { releaseId, databaseId: database.id, slug: database.slug };
  }
  const slugs = table.databases().map(({ slug }) => slug);
  throw name === undefined
    ? new Refusal('default_database_not_set', `Name a database with --database. ${existingDatabases(slugs)}`)
    : databaseNotFound(name, slugs);
}
