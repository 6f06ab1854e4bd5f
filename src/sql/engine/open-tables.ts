import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { SqlTables } from '../tables.js';
import { literal, tableFiles, viewStatements } from '../views.js';

/** Resources that an engine may use. */
export interface EngineLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** An opened snapshot. */
export interface OpenTables {
  connect(): Promise<DuckDBConnection>;
  /** Connection for parsing only. It reads no rows. */
  readonly gate: DuckDBConnection;
  close(): void;
}

const NOWHERE = '/nonexistent';

/**
 * Opens a snapshot in memory and locks the engine. A locked engine reads only the snapshot's files, loads no extension
 * and changes no setting, whatever a statement says.
 * Errors  those of DuckDB and of the file system
 */
export async function openTables(tables: SqlTables, limits: EngineLimits): Promise<OpenTables> {
  // Relative file names, so that no statement sees the path of the folder.
  process.chdir(tables.folder);
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${Math.floor(limits.memoryBytes / 1024)}KiB`,
    threads: String(limits.threads),
    temp_directory: '',
    max_temp_directory_size: '0B',
    home_directory: NOWHERE,
    extension_directory: NOWHERE,
    secret_directory: NOWHERE,
    allow_persistent_secrets: 'false',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
    enable_object_cache: 'true',
  });
  const gate = await instance.connect();
  for (const statement of viewStatements(tables)) await gate.run(statement);
  await gate.run("SET GLOBAL TimeZone = 'UTC'");
  await gate.run(`SET GLOBAL allowed_paths = [${tableFiles(tables).map(literal).join()}]`);
  await gate.run('SET GLOBAL enable_external_access = false');
  await gate.run('SET GLOBAL lock_configuration = true');
  return {
    gate,
    connect: () => instance.connect(),
    close() {
      gate.closeSync();
      instance.closeSync();
    },
  };
}
