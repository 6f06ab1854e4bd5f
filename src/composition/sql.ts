import { releaseDirectory } from '../release/catalog.js';
import type { Catalog } from '../services/search/catalog.js';
import { SqlCredentials } from '../services/sql/credentials.js';
import { SqlEngines } from '../services/sql/engines.js';
import { Sql } from '../services/sql/sql.js';
import { OrganizationTables } from '../services/sql/organization-tables.js';
import type { Foundation } from './foundation.js';

/** SQL over the data of each organization, and its credentials. */
export interface SqlCapability {
  readonly sql: Sql;
  readonly sqlCredentials: SqlCredentials;
}

export function composeSql(
  { config, store, tables, pages, world, now }: Foundation,
  catalog: Catalog,
): SqlCapability {
  const { releases } = tables;
  const sqlCredentials = new SqlCredentials({ table: tables.sqlCredentials, pages, now, world });
  const organizationTables = new OrganizationTables({
    catalog,
    dataFolder: config.dataFolder,
    releaseFolder: (slug, releaseId) => releaseDirectory(config.indexesFolder, slug, releaseId),
    storeVersion: () => store.commitNumber(),
    releaseIds: () => releases.allReleases().map(({ id }) => id),
  });
  const limits = { memoryBytes: config.sqlMemoryBytes, threads: config.sqlThreads };
  const sql = new Sql({
    credentials: sqlCredentials,
    tables: organizationTables,
    engines: new SqlEngines(organizationTables, limits),
    timeoutMs: config.sqlTimeoutMs,
  });
  return { sql, sqlCredentials };
}
