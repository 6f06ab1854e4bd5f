import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askSql } from '../../tools/sql-client.js';
import { HIDDEN_WORD, startSqlScene, type SqlScene } from '../../tools/sql-scene.js';

/*
 * Every known escape from the SQL engine, tried by one organization against files, settings and another organization.
 */

let scene: SqlScene;

beforeAll(async () => {
  scene = await startSqlScene({ sql_timeout_seconds: 5, sql_memory_mib: 256 });
});
afterAll(() => scene.close());

/** Existing files: one of the system, one of the appliance, one of the other organization's tables. */
const FILES = [
  '/etc/passwd',
  '/proc/self/environ',
  './releases',
  '../control/data.mdb',
  'releases/*.parquet',
];
const READERS = [
  'read_csv',
  'read_csv_auto',
  'read_text',
  'read_blob',
  'read_json',
  'read_ndjson_objects',
  'read_parquet',
  'parquet_scan',
  'parquet_metadata',
  'parquet_schema',
  'parquet_file_metadata',
  'parquet_full_metadata',
  'read_duckdb',
  'sniff_csv',
  'glob',
];

const REFUSED: readonly string[] = [
  ...READERS.flatMap((reader) => FILES.map((file) => `SELECT * FROM ${reader}('${file}')`)),
  ...FILES.map((file) => `SELECT * FROM '${file}'`),
  ...FILES.map((file) => `FROM "${file}"`),
  "SELECT * FROM system.main.read_text('/etc/passwd')",
  "SELECT (SELECT content FROM read_text('/etc/passwd'))",
  "WITH a AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM a",
  "SELECT * FROM targets WHERE sequence IN (SELECT content FROM read_text('/etc/passwd'))",
  'SELECT * FROM targets, LATERAL (SELECT * FROM glob(target_id))',
  "EXPLAIN SELECT * FROM read_text('/etc/passwd')",
  "EXPLAIN ANALYZE SELECT * FROM read_text('/etc/passwd')",
  "DESCRIBE SELECT * FROM read_text('/etc/passwd')",
  "SUMMARIZE SELECT * FROM read_text('/etc/passwd')",
  "SUMMARIZE '/etc/passwd'",
  "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
  "SELECT * FROM query_table('/etc/passwd')",
  "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
  "ATTACH '/tmp/other.db'",
  "ATTACH ':memory:' AS free",
  'DETACH memory',
  'USE temp',
  "COPY targets TO '/tmp/targets.csv'",
  "COPY (SELECT 1) TO 'releases/x.parquet' (FORMAT parquet)",
  "COPY targets FROM '/etc/passwd'",
  "EXPORT DATABASE '/tmp/export'",
  "IMPORT DATABASE '/tmp/export'",
  'INSTALL httpfs',
  'LOAD httpfs',
  "LOAD '/tmp/evil.duckdb_extension'",
  'FORCE INSTALL httpfs FROM community',
  'UPDATE EXTENSIONS',
  'PRAGMA database_list',
  'PRAGMA show_tables',
  'PRAGMA enable_profiling',
  "PRAGMA profiling_output='/tmp/profile'",
  "SET memory_limit='100GB'",
  'SET enable_external_access=true',
  'SET lock_configuration=false',
  "SET GLOBAL temp_directory='/tmp'",
  'SET VARIABLE a = 1',
  'RESET memory_limit',
  'RESET ALL',
  "SELECT getenv('PATH')",
  "SELECT current_setting('allowed_paths')",
  "SELECT current_setting('home_directory')",
  'SELECT * FROM duckdb_settings()',
  'SELECT * FROM system.main.duckdb_settings()',
  'SELECT * FROM pg_settings',
  'SELECT * FROM pg_catalog.pg_settings',
  'SELECT * FROM duckdb_secrets()',
  "SELECT * FROM which_secret('s3://a', 's3')",
  "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
  'SELECT * FROM duckdb_databases()',
  'SELECT * FROM duckdb_databases',
  'SELECT * FROM pragma_database_list',
  'SELECT * FROM pragma_database_list()',
  'SELECT * FROM duckdb_views()',
  'SELECT * FROM duckdb_functions()',
  'SELECT * FROM duckdb_extensions()',
  'SELECT * FROM duckdb_temporary_files()',
  'SELECT * FROM duckdb_external_file_cache()',
  'SELECT * FROM duckdb_logs',
  'SELECT * FROM sqlite_master',
  "SELECT * FROM pragma_storage_info('targets')",
  'SELECT * FROM arrow_scan(1, 2, 3)',
  'SELECT * FROM arrow_scan_dumb(1, 2, 3)',
  'SELECT * FROM seq_scan()',
  "SELECT write_log('x')",
  'CALL enable_logging()',
  'CALL pragma_version()',
  'CHECKPOINT',
  'FORCE CHECKPOINT',
  'SELECT * FROM checkpoint()',
  'VACUUM',
  'ANALYZE',
  'CREATE TABLE mine (a INTEGER)',
  'CREATE TEMP TABLE mine (a INTEGER)',
  'CREATE TABLE mine AS SELECT 1',
  'CREATE VIEW mine AS SELECT 1',
  'CREATE MACRO mine() AS 1',
  'CREATE FUNCTION mine() AS TABLE SELECT 1',
  'CREATE SEQUENCE mine',
  'CREATE TYPE mine AS INTEGER',
  'CREATE SCHEMA mine',
  "INSERT INTO databases VALUES ('a','b','c','d',true,'e')",
  'UPDATE databases SET slug = NULL',
  'DELETE FROM databases',
  'MERGE INTO databases USING releases ON false WHEN MATCHED THEN DELETE',
  'TRUNCATE databases',
  'DROP TABLE databases',
  'DROP VIEW targets',
  'ALTER TABLE databases DROP COLUMN slug',
  "COMMENT ON TABLE databases IS 'x'",
  'BEGIN',
  'COMMIT',
  'PREPARE mine AS SELECT 1',
  'EXECUTE mine',
  'DEALLOCATE mine',
  'SELECT 1; DROP TABLE databases',
  "SELECT 1; ATTACH ':memory:' AS free",
  '/* hidden */ INSTALL httpfs',
  'explain analyze DELETE FROM databases',
];

describe('statements that try to escape from the SQL engine', () => {
  it.each(REFUSED)('are refused: %s', async (sql) => {
    const { status, code, message, rows } = await askSql(scene, scene.one, sql);
    expect([status, rows]).toEqual([422, []]);
    expect(code).toMatch(/^sql_statement_(refused|invalid)$/);
    expect(message).not.toMatch(/\/tmp\/|gloaming-small|root:/);
  });

  it('change nothing for later statements', async () => {
    const { rows } = await askSql(scene, scene.one, 'SELECT slug FROM databases');
    expect(rows).toEqual([['demo']]);
    const { rows: tables } = await askSql(
      scene,
      scene.one,
      "SELECT name FROM (SHOW ALL TABLES) WHERE name = 'mine'",
    );
    expect(tables).toEqual([]);
  });
});

describe('an allowed statement', () => {
  it.each([
    ['SELECT 1', [[1]]],
    ['VALUES (1), (2)', [[1], [2]]],
    ['FROM range(2)', [[0], [1]]],
    ['SELECT unnest([1, 2])', [[1], [2]]],
    ["SELECT value::INTEGER FROM json_each('[1,2]')", [[1], [2]]],
    [
      'WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT sum(a) FROM r',
      [[6]],
    ],
    ['SELECT current_schema(), current_database()', [['main', 'memory']]],
    ["SELECT table_name FROM information_schema.tables WHERE table_name = 'usage'", [['usage']]],
    ["SELECT relname FROM pg_catalog.pg_class WHERE relname = 'runs'", [['runs']]],
    ['DESCRIBE SELECT 1 AS a', [['a', 'INTEGER', 'YES', null, null, null]]],
  ] as const)('%s', async (sql, expected) => {
    expect((await askSql(scene, scene.one, sql)).rows).toEqual(expected);
  });

  it('never shows paths of files in descriptions of the tables', async () => {
    const { small } = scene;
    const folder = small.appliance.config.dataFolder;
    for (const sql of [
      'SHOW ALL TABLES',
      'SHOW DATABASES',
      'SELECT * FROM information_schema.tables',
      'SELECT * FROM information_schema.views',
      'SELECT * FROM information_schema.schemata',
      'SELECT * FROM pg_catalog.pg_database',
      'SELECT * FROM pg_catalog.pg_views',
      'SELECT * FROM pg_catalog.pg_tablespace',
      'EXPLAIN SELECT * FROM targets',
      'EXPLAIN ANALYZE SELECT * FROM targets',
      'SELECT version(), current_user, current_query()',
    ]) {
      const answer = await askSql(scene, scene.two, sql, { limit: 10_000 });
      expect([sql, answer.status]).toEqual([sql, 200]);
      expect(JSON.stringify(answer.rows)).not.toContain(folder);
    }
  });

  it('shows no data of another organization', async () => {
    const { rows } = await askSql(scene, scene.one, 'SHOW ALL TABLES');
    expect(JSON.stringify(rows)).not.toMatch(/hidden/);
    const { rows: names } = await askSql(
      scene,
      scene.one,
      `SELECT 1 FROM targets WHERE target_id LIKE '${HIDDEN_WORD}%' UNION ALL ` +
        `SELECT 2 FROM attributes WHERE value LIKE '%abcA%' UNION ALL ` +
        `SELECT 3 FROM releases WHERE "database" = 'hidden'`,
    );
    expect(names).toEqual([]);
    const { rows: own } = await askSql(
      scene,
      scene.two,
      `SELECT count(*) FROM targets WHERE "database" = 'hidden'`,
    );
    expect(own).toEqual([[2]]);
  });
});

describe('statements that are too much to parse', () => {
  it.each([
    ['parentheses', `SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)}`],
    ['an expression', `SELECT ${'1+'.repeat(40_000)}1`],
    ['subqueries', `SELECT * FROM ${'(SELECT * FROM '.repeat(3_000)}databases${')'.repeat(3_000)}`],
    ['a list', `SELECT [${'['.repeat(5_000)}${']'.repeat(5_000)}]`],
    ['unions', `SELECT 1 ${'UNION ALL SELECT 1 '.repeat(5_000)}`],
  ])('%s, and the engine answers again afterwards', async (_name, sql) => {
    const { status } = await askSql(scene, scene.one, sql, { timeout_seconds: 3 });
    expect([200, 422, 503]).toContain(status);
    expect((await askSql(scene, scene.one, 'SELECT 1')).rows).toEqual([[1]]);
  });
});
