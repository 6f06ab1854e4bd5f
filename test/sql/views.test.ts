// @module-tag fast

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SqlRelease } from '#src/sql/tables.js';
import { viewStatements } from '#src/sql/views.js';

/* Views over files that this test writes: one target for each database, whose id is the slug of the database. */

let folder: string;
let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-views-'));
  instance = await DuckDBInstance.create(':memory:');
});
afterAll(() => {
  instance.closeSync();
  rmSync(folder, { recursive: true });
});

async function write(name: string, targetId: string): Promise<string> {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  const row = `SELECT 0 AS target_index, '${targetId}' AS target_id, 1 AS length, 'M' AS sequence`;
  await connection.run(`COPY (${row}) TO '${file}'`);
  return file;
}

async function databaseOf(slug: string): Promise<SqlRelease> {
  const texts = { databaseId: `db_${slug}`, title: slug, description: slug, encoderId: 'encoder' };
  return {
    ...texts,
    slug,
    releaseId: `dbr_${Buffer.from(slug).toString('hex').padEnd(64, '0')}`,
    isDefault: true,
    isSimulated: true,
    publishedAt: '2026-01-01T00:00:00Z',
    targetCount: 1,
    residueCount: 1,
    fields: [],
    file: await write(`${slug}.parquet`, slug),
  };
}

/** Creates the views of databases with these slugs in an empty engine. Returns the target that each schema has. */
async function targetsBySchema(slugs: readonly string[]): Promise<Record<string, unknown>> {
  instance.closeSync();
  instance = await DuckDBInstance.create(':memory:');
  connection = await instance.connect();
  const releases = await Promise.all(slugs.map(databaseOf));
  const records = [await write('run_id=run_a/rows.parquet', 'none')];
  const tables = { runs: records, candidates: records, usage: records };
  for (const statement of viewStatements({ organizationId: 'lab', folder, releases, records: tables })) {
    await connection.run(statement);
  }
  const schemas = await connection.runAndReadAll(
    "SELECT schema_name FROM duckdb_views() WHERE view_name = 'targets' AND schema_name <> 'main'",
  );
  const found: Record<string, unknown> = {};
  for (const [schema] of schemas.getRows()) {
    const targets = await connection.runAndReadAll(`SELECT target_id FROM "${String(schema)}".targets`);
    found[String(schema)] = targets.value(0, 0);
  }
  return found;
}

describe('the schema of a database', () => {
  it('has its slug, and a prefix if the engine has a schema or a database of that name', async () => {
    expect(await targetsBySchema(['demo', 'main', 'temp'])).toEqual({
      demo: 'demo',
      database_main: 'main',
      database_temp: 'temp',
    });
  });

  it.each(['main', 'temp', 'system', 'memory', 'pg_catalog', 'information_schema'])(
    'has a number, too, if another database has the slug "database_%s"',
    async (slug) => {
      const [prefixed, second] = [`database_${slug}`, `database_${slug}_2`];
      expect(await targetsBySchema([slug, prefixed])).toEqual({ [second]: slug, [prefixed]: prefixed });
      expect(await targetsBySchema([second, prefixed, slug])).toEqual({
        [`database_${slug}_3`]: slug,
        [second]: second,
        [prefixed]: prefixed,
      });
    },
  );
});
