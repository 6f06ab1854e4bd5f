import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { syncFolder } from '../files.js';
import { literal } from './views.js';

const MEMORY_LIMIT = '1GiB';

/**
 * Concatenates Parquet files of one schema into one file. The write is atomic, and equal inputs give equal bytes.
 * Cost    a row group in memory
 * Errors  those of DuckDB and of the file system
 */
export async function joinParquet(paths: readonly string[], target: string): Promise<void> {
  // One thread and insertion order make the bytes reproducible without a sort.
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    preserve_insertion_order: 'true',
    memory_limit: MEMORY_LIMIT,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const partial = `${target}.part`;
  try {
    const connection = await instance.connect();
    const files = paths.map(literal).join();
    await connection.run(
      `COPY (SELECT * FROM read_parquet([${files}])) TO ${literal(partial)} (FORMAT parquet, COMPRESSION snappy)`,
    );
    connection.closeSync();
    const handle = await open(partial, 'r+');
    await handle.sync();
    await handle.close();
    await rename(partial, target);
    await syncFolder(dirname(target));
  } finally {
    await rm(partial, { force: true });
    instance.closeSync();
  }
}
