// @module-tag fast

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTIONS, TABLE_FUNCTIONS } from '#src/sql/engine/functions.js';
import { requireReading } from '#src/sql/engine/gate.js';

/*
 * Every function of the installed engine must be allowed or refused by name. If an upgrade adds a function, this test
 * fails until the function is listed. Until then statements cannot call the function.
 */

/** Refused functions, grouped by reason. */
const REFUSED: Readonly<Record<string, string>> = {
  'settings, variables and secrets': 'current_setting getvariable which_secret',
  'statements and tables given as text': `
    query query_table histogram histogram_values json_deserialize_sql json_execute_serialized_sql json_serialize_plan
    json_serialize_sql sql_auto_complete check_peg_parser enable_peg_parser disable_peg_parser`,
  'files and memory': `
    arrow_scan arrow_scan_dumb glob parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata
    parquet_metadata parquet_scan parquet_schema read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto
    read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_text
    seq_scan sniff_csv`,
  'waiting and writing': `
    checkpoint force_checkpoint currval nextval parse_duckdb_log_message pg_sleep sleep_ms truncate_duckdb_logs
    write_log disable_logging enable_logging disable_profiling enable_profiling`,
  'states of aggregates as bytes': 'combine finalize',
  "the engine's own state": `
    current_connection_id current_query_id current_transaction_id get_block_size in_search_path stats txid_current
    vector_type icu_calendar_names summary`,
  "the engine's own means": `
    can_cast_implicitly cast_to_type constant_or_null create_sort_key get_type make_type remap_struct replace_type
    sum_no_overflow test_all_types test_vector_types timetz_byte_comparable variant_normalize
    variant_to_parquet_variant`,
};
const REFUSED_FAMILIES = [/^__internal_/, /^icu_(collate_|sort_key$)/, /^st_/, /^duckdb_/, /^pragma_/];

const refused = new Set(Object.values(REFUSED).flatMap((names) => names.trim().split(/\s+/)));
const isRefused = (name: string): boolean =>
  refused.has(name) || REFUSED_FAMILIES.some((family) => family.test(name));

/** A SELECT calls a pragma only through its table function. */
const CALLABLE = "function_type <> 'pragma'";

let instance: DuckDBInstance;
let gate: DuckDBConnection;
let existing: readonly { readonly name: string; readonly isTable: boolean }[];

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { autoload_known_extensions: 'false' });
  gate = await instance.connect();
  const reader = await gate.runAndReadAll(
    `SELECT DISTINCT lower(function_name), function_type LIKE 'table%' FROM duckdb_functions() WHERE ${CALLABLE}`,
  );
  existing = reader.getRows().map(([name, isTable]) => ({ name: String(name), isTable: isTable === true }));
});
afterAll(() => {
  gate.closeSync();
  instance.closeSync();
});

const namesOf = (rows: typeof existing): Set<string> => new Set(rows.map(({ name }) => name));

describe('the functions that statements may call', () => {
  it('and the refused functions are together all functions of the engine', () => {
    expect(existing.length).toBeGreaterThan(700);
    const tables = existing.filter(({ isTable }) => isTable);
    const others = existing.filter(({ isTable }) => !isTable);
    const unknown = [
      ...others.filter(({ name }) => !FUNCTIONS.has(name) && !isRefused(name)),
      ...tables.filter(({ name }) => !TABLE_FUNCTIONS.has(name) && !isRefused(name)),
    ];
    expect(unknown).toEqual([]);
  });

  it('are not also refused, and exist', () => {
    const names = namesOf(existing);
    expect([...FUNCTIONS].filter((name) => !names.has(name))).toEqual([]);
    expect([...refused].filter((name) => !names.has(name))).toEqual([]);
    // The table function `histogram` is refused; the aggregate of the same name is allowed.
    expect([...FUNCTIONS].filter((name) => isRefused(name))).toEqual(['histogram']);
  });

  it('are enforced by the gate: every other function is refused, however it is called', async () => {
    for (const sql of [
      "SELECT json_serialize_plan('SELECT current_setting(''allowed_paths'')')",
      "SELECT JSON_Serialize_Plan('SELECT 1')",
      "SELECT system.main.current_setting('threads')",
      "SELECT ('threads').current_setting()",
      "SELECT [x.current_setting() FOR x IN ['threads']]",
      "SELECT list_transform(['threads'], lambda x: current_setting(x))",
      "SELECT count(*) FILTER (current_setting('threads') = '1')",
      "SELECT sum(1) OVER (ORDER BY current_setting('threads'))",
      "SELECT 1 ORDER BY current_setting('threads')",
      "SELECT 1 LIMIT current_setting('threads')::INTEGER",
      "SELECT * FROM range(current_setting('threads')::INTEGER)",
      'SELECT pg_catalog.pg_sleep(1)',
      'SELECT brought_by_an_upgrade(1)',
      'SELECT * FROM brought_by_an_upgrade()',
      "SELECT * FROM histogram('targets', length)",
    ]) {
      await expect(requireReading(sql, gate), sql).rejects.toMatchObject({ kind: 'refused' });
    }
  });

  it('suffice for common statements, in every spelling of the grammar', async () => {
    for (const expression of [
      'if(a, 1, 2), ifnull(a, 1), coalesce(a, 1), nullif(a, 1), greatest(a, b), row(1, 2), struct_pack(k := 1)',
      "[1, 2], {'a': 1}, map {'a': 1}, x[1], x[1:2], s.a, a IN (1, 2), a IN [1], 2 = ANY(SELECT 1), 2 = ANY([1])",
      "a LIKE 'b', a NOT ILIKE 'b' ESCAPE 'c', a SIMILAR TO 'b', a ~ 'b', a !~ 'b', a GLOB 'b', a ^@ 'b'",
      "extract(year FROM d), position('a' IN b), substring(a FROM 1 FOR 2), trim(BOTH 'x' FROM a), a COLLATE nocase",
      "d AT TIME ZONE 'UTC', current_date, current_timestamp, interval '1 day', date '2020-01-01', d - interval 1 day",
      'count(*), count(DISTINCT a), sum(a) FILTER (a > 1) OVER (ORDER BY b), list(a ORDER BY b), grouping(a), mode(a)',
      'percentile_cont(0.5) WITHIN GROUP (ORDER BY a), row_number() OVER (), fill(a) OVER (ORDER BY b)',
      "-a, a // b, a ** b, 5!, @a, ~a, a % b, a & b, a | b, a << 1, a -> 'b', a ->> 'b', a || b, #1, a::text",
      '[x FOR x IN l IF x > 1], list_transform(l, lambda x: x + 1), unnest(l), a.upper(), columns(*), try(a)',
    ]) {
      expect(await requireReading(`SELECT ${expression} FROM t`, gate), expression).toBe(true);
    }
  });
});

it('a number beyond the range of a double is called out of range', async () => {
  for (const number of ['1e400::double', '-1e309', '1e400::varchar', '[1, 1e400]']) {
    await expect(requireReading(`SELECT ${number}`, gate), number).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('number is out of range') as unknown,
    });
  }
  expect(await requireReading("SELECT 1e308, 'Infinity'::double, 'NaN'::float", gate)).toBe(true);
});

describe("the engine's own views", () => {
  it('are readable if a standard defines them; every other view is refused', async () => {
    const reader = await gate.runAndReadAll(
      'SELECT DISTINCT schema_name, view_name FROM duckdb_views() WHERE internal ORDER BY ALL',
    );
    const open: string[] = [];
    for (const [schema, view] of reader.getRows()) {
      const isOpen = await requireReading(`SELECT * FROM ${schema}.${view}`, gate).catch(() => false);
      if (isOpen) open.push(`${schema}.${view}`);
    }
    expect(open.filter((name) => !/^(information_schema|pg_catalog)\./.test(name))).toEqual([]);
    expect(open).not.toContain('pg_catalog.pg_settings');
    expect(open.length).toBeGreaterThan(20);
  });
});
