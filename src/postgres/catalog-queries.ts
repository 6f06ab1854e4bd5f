/*
 * Adapts queries of PostgreSQL's catalogs to DuckDB. Clients list tables through these catalogs, and DuckDB lacks a
 * part of their dialect. Only statements that name `pg_catalog` or call version() change. The gate checks the adapted
 * statement like any other.
 */

/** Owner of every object. */
const OWNER = 'gloaming';

/**
 * Names of result types by their ids in the protocol. psql queries them for \gdesc; DuckDB's catalogs have other ids.
 */
const TYPE_NAMES: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'bytea',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  25: 'text',
  114: 'json',
  700: 'real',
  701: 'double precision',
  1009: 'text[]',
  1082: 'date',
  1083: 'time',
  1114: 'timestamp',
  1184: 'timestamptz',
  1186: 'interval',
  1700: 'numeric',
  2950: 'uuid',
};
const TYPE_NAME = `CASE tp ${Object.entries(TYPE_NAMES)
  .map(([id, name]) => `WHEN ${id} THEN '${name}'`)
  .join(' ')} END`;

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\bpg_catalog\.format_type\(tp, tpm\)/g, TYPE_NAME],
  [/\boperator\s*\(\s*pg_catalog\.([~!=<>]+)\s*\)/gi, '$1'],
  [/\bcollate\s+pg_catalog\."?default"?/gi, ''],
  [/::\s*pg_catalog\.reg\w+(\[\])?(::\s*(pg_catalog\.)?text)?/gi, '::VARCHAR'],
  [/::\s*reg\w+(::\s*text)?/gi, '::VARCHAR'],
  [/::\s*pg_catalog\.(\w+)/gi, '::$1'],
  [/::\s*"char"/gi, '::VARCHAR'],
  [/\bpg_catalog\.pg_get_userbyid\s*\([^()]*\)/gi, `'${OWNER}'`],
  [/\bpg_catalog\.pg_encoding_to_char\s*\([^()]*\)/gi, "'UTF8'"],
  [/\bpg_catalog\.(?:array_to_string|pg_get_expr|pg_get_statisticsobjdef_columns)\s*\([^()]*\)/gi, 'NULL'],
  [/\bc\.relforcerowsecurity\b/gi, 'false'],
  [/\(SELECT c\.collname FROM [^()]*\) AS attcollation/gi, 'NULL AS attcollation'],
];

/**
 * Returns the adapted statement.
 * @param versionText result of version(), in which clients look for PostgreSQL's name
 */
export function readableCatalogQuery(sql: string, versionText: string): string {
  const named = sql.replace(
    /(?<![\w.])(?:pg_catalog\.)?version\s*\(\s*\)/gi,
    `'${versionText.replaceAll("'", "''")}'`,
  );
  if (!/\bpg_catalog\b/i.test(named)) return named;
  return REPLACED.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), named);
}
