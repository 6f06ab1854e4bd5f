import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { SqlWorld } from '../world.js';
import { literal, worldFiles, worldStatements } from '../world-views.js';

/** Resource limits of an engine. */
export interface EngineLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** A world (the tables that one organization may read) in an engine. */
export interface OpenWorld {
  connect(): Promise<DuckDBConnection>;
  /** Parses statements and never reads rows. */
  readonly gate: DuckDBConnection;
  close(): void;
}

const NOWHERE = '/nonexistent';

/**
 * Opens a world in memory and locks the engine. Afterwards no statement can read other files, load extensions or change
 * settings.
 * Errors  those of the engine and of the file system
 */
export async function openWorld(world: SqlWorld, limits: EngineLimits): Promise<OpenWorld> {
  // Files have relative names, so that no statement can see their folder.
  process.chdir(world.folder);
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
  for (const statement of worldStatements(world)) await gate.run(statement);
  await gate.run("SET GLOBAL TimeZone = 'UTC'");
  await gate.run(`SET GLOBAL allowed_paths = [${worldFiles(world).map(literal).join()}]`);
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
