import { NEIGHBOUR_COLUMNS } from './neighbours.js';
import { attributeColumn, type SqlRelease, type SqlTables } from './tables.js';

/** Schema names that a database must not take: those of the engine and of the views here. */
const TAKEN_SCHEMAS = new Set(['main', 'information_schema', 'pg_catalog', 'system', 'temp', 'memory']);
/** Columns of every target. An attribute of the same name must not hide them. */
const TARGET_COLUMNS = ['target_index', 'target_id', 'length', 'sequence'];
/** Characters of a release id after `dbr_` that distinguish the releases of one database. */
const SHORT_ID_CHARACTERS = 12;

/**
 * Returns the statements that create the views over the snapshot's files, in order: `databases`, `releases`, `targets`,
 * `attributes`, `neighbours`, `runs`, `candidates`, `usage`. Each database also gets a schema. The schema has `targets`
 * of the default release with attributes as columns, its `neighbours` if it has any, and
 * `targets_<first digits of the id>` of each release.
 */
export function viewStatements({ releases, records }: SqlTables): readonly string[] {
  return [
    ...catalogStatements(releases),
    `CREATE VIEW targets AS ${union(releases.map(commonTargets), NO_TARGETS)}`,
    `CREATE VIEW attributes AS ${union(releases.map(longAttributes), NO_ATTRIBUTES)}`,
    `CREATE VIEW neighbours AS ${union(releases.flatMap(commonNeighbours), NO_NEIGHBOURS)}`,
    ...databaseStatements(releases),
    `CREATE VIEW runs AS SELECT * FROM ${parquet(records.runs)}`,
    `CREATE VIEW candidates AS SELECT run_id, * EXCLUDE (run_id) FROM ${partitioned(records.candidates)}`,
    `CREATE VIEW usage AS SELECT * FROM ${parquet(records.usage)}`,
  ];
}

/** Returns every file that the snapshot reads. */
export function tableFiles({ releases, records }: SqlTables): readonly string[] {
  const neighbours = releases.flatMap((release) => release.neighbours?.file ?? []);
  return [
    ...releases.map(({ file }) => file),
    ...neighbours,
    ...records.runs,
    ...records.candidates,
    ...records.usage,
  ];
}

/** SQL types of the columns of neighbours. */
const NEIGHBOUR_TYPES = { string: 'VARCHAR', number: 'DOUBLE', int32: 'INTEGER' } as const;
const NO_TARGETS =
  'SELECT NULL::VARCHAR AS "database", NULL::VARCHAR AS release_id, NULL::BOOLEAN AS is_default_release, ' +
  'NULL::INTEGER AS target_index, NULL::VARCHAR AS target_id, NULL::INTEGER AS length, ' +
  'NULL::VARCHAR AS sequence WHERE false';
const NO_ATTRIBUTES =
  'SELECT NULL::VARCHAR AS "database", NULL::VARCHAR AS release_id, NULL::VARCHAR AS target_id, ' +
  'NULL::VARCHAR AS field, NULL::VARCHAR AS value WHERE false';

const NO_NEIGHBOURS =
  'SELECT NULL::VARCHAR AS "database", NULL::VARCHAR AS release_id, NULL::BOOLEAN AS is_default_release, ' +
  'NULL::VARCHAR AS calibration_id, ' +
  `${NEIGHBOUR_COLUMNS.map(({ name, type }) => `NULL::${NEIGHBOUR_TYPES[type]} AS ${name}`).join()} WHERE false`;

function union(parts: readonly string[], nothing: string): string {
  return parts.length === 0 ? nothing : parts.join(' UNION ALL ');
}

/** Views of releases and databases, which need no file. */
function catalogStatements(releases: readonly SqlRelease[]): readonly string[] {
  const databases = releases
    .filter(({ isDefault }) => isDefault)
    .map(
      ({ databaseId, slug, title, description, isSimulated, releaseId }) =>
        `(${[databaseId, slug, title, description].map(literal).join()}, ${isSimulated}, ${literal(releaseId)})`,
    );
  const rows = releases.map((release) => {
    const keys = `${literal(release.releaseId)}, ${literal(release.slug)}, ${release.isDefault}`;
    const texts = [release.publishedAt, release.title, release.description, release.encoderId].map(literal);
    return `(${keys}, ${texts.join()}, ${release.targetCount}, ${release.residueCount})`;
  });
  return [values('databases', DATABASE_COLUMNS, databases), values('releases', RELEASE_COLUMNS, rows)];
}

const DATABASE_COLUMNS = [
  ['database_id', 'VARCHAR'],
  ['slug', 'VARCHAR'],
  ['title', 'VARCHAR'],
  ['description', 'VARCHAR'],
  ['is_simulated', 'BOOLEAN'],
  ['default_release_id', 'VARCHAR'],
] as const;
const RELEASE_COLUMNS = [
  ['release_id', 'VARCHAR'],
  ['database', 'VARCHAR'],
  ['is_default', 'BOOLEAN'],
  ['published_at', 'TIMESTAMPTZ'],
  ['title', 'VARCHAR'],
  ['description', 'VARCHAR'],
  ['encoder_id', 'VARCHAR'],
  ['target_count', 'BIGINT'],
  ['residue_count', 'BIGINT'],
] as const;

/** A view of literal rows. Without rows, the view selects from a row of nulls and `WHERE false` removes it. */
function values(
  name: string,
  columns: readonly (readonly [string, string])[],
  rows: readonly string[],
): string {
  const names = columns.map(([column]) => identifier(column)).join();
  const typed = columns.map(([column, type]) => `${identifier(column)}::${type} AS ${identifier(column)}`);
  const values = rows.length === 0 ? `(${columns.map(() => 'NULL').join()})` : rows.join();
  const none = rows.length === 0 ? ' WHERE false' : '';
  return `CREATE VIEW ${name} AS SELECT ${typed.join()} FROM (VALUES ${values}) AS given(${names})${none}`;
}

function commonTargets({ slug, releaseId, isDefault, file }: SqlRelease): string {
  return (
    `SELECT ${literal(slug)} AS "database", ${literal(releaseId)} AS release_id, ` +
    `${isDefault} AS is_default_release, ${TARGET_COLUMNS.join()} FROM ${parquet([file])}`
  );
}

function commonNeighbours({ slug, releaseId, isDefault, neighbours }: SqlRelease): readonly string[] {
  if (neighbours === undefined) return [];
  return [
    `SELECT ${literal(slug)} AS "database", ${literal(releaseId)} AS release_id, ` +
      `${isDefault} AS is_default_release, ${literal(neighbours.calibrationId)} AS calibration_id, ` +
      `* FROM ${parquet([neighbours.file])}`,
  ];
}

/** One row for each attribute of each target, with the value as text. */
function longAttributes({ slug, releaseId, fields, file }: SqlRelease): string {
  const from = `FROM ${parquet([file])}`;
  const parts = fields.map(
    ({ name }, index) =>
      `SELECT ${literal(slug)} AS "database", ${literal(releaseId)} AS release_id, target_id, ` +
      `${literal(name)} AS field, ${attributeColumn(index)}::VARCHAR AS value ${from} ` +
      `WHERE ${attributeColumn(index)} IS NOT NULL`,
  );
  return union(parts, NO_ATTRIBUTES);
}

function databaseStatements(releases: readonly SqlRelease[]): readonly string[] {
  const schemas = schemaNames(new Set(releases.map(({ slug }) => slug)));
  return [
    ...[...schemas.values()].map((schema) => `CREATE SCHEMA ${schema}`),
    ...releases.flatMap((release) => {
      const schema = schemas.get(release.slug)!;
      const short = release.releaseId.slice('dbr_'.length, 'dbr_'.length + SHORT_ID_CHARACTERS);
      const names = [`targets_${short}`, ...(release.isDefault ? ['targets'] : [])];
      const views = names.map((name) => `CREATE VIEW ${schema}.${name} AS ${wideTargets(release)}`);
      const { isDefault, neighbours } = release;
      if (!isDefault || neighbours === undefined) return views;
      return [...views, `CREATE VIEW ${schema}.neighbours AS SELECT * FROM ${parquet([neighbours.file])}`];
    }),
  ];
}

function wideTargets({ fields, file }: SqlRelease): string {
  const names = new Set(TARGET_COLUMNS);
  const columns = fields.map(({ name }, index) => {
    let free = name;
    for (let again = 2; names.has(free.toLowerCase()); again += 1) free = `${name}_${again}`;
    names.add(free.toLowerCase());
    return `${attributeColumn(index)} AS ${identifier(free)}`;
  });
  return `SELECT ${[...TARGET_COLUMNS, ...columns].join(', ')} FROM ${parquet([file])}`;
}

/** The schema of each database: its slug, or `database_<slug>` if the engine has that name, or that with a number. */
function schemaNames(slugs: ReadonlySet<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const slug of slugs) {
    let free = TAKEN_SCHEMAS.has(slug) ? `database_${slug}` : slug;
    for (let again = 2; free !== slug && slugs.has(free); again += 1) free = `database_${slug}_${again}`;
    names.set(slug, identifier(free));
  }
  return names;
}

function parquet(files: readonly string[]): string {
  return `read_parquet([${files.map(literal).join()}])`;
}

function partitioned(files: readonly string[]): string {
  return (
    `read_parquet([${files.map(literal).join()}], hive_partitioning = true, ` +
    `hive_types = {'run_id': VARCHAR})`
  );
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
