import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTypeId,
  DuckDBUnionValue,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';

/** Converts a value to JSON. Values that JSON numbers cannot represent become text. */
export function jsonOf(value: DuckDBValue): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(jsonOf);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, inner]) => [name, jsonOf(inner)]));
  }
  if (value instanceof DuckDBMapValue) {
    return value.entries.map(({ key, value: inner }) => ({ key: jsonOf(key), value: jsonOf(inner) }));
  }
  if (value instanceof DuckDBUnionValue) return jsonOf(value.value);
  return String(value);
}

/** Formats a value as PostgreSQL does. */
export function postgresText(value: DuckDBValue): string {
  if (value === true) return 't';
  if (value === false) return 'f';
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    return `{${value.items.map(arrayItem).join(',')}}`;
  }
  if (value instanceof DuckDBStructValue || value instanceof DuckDBMapValue) {
    return JSON.stringify(jsonOf(value));
  }
  if (value instanceof DuckDBBlobValue) return `\\x${Buffer.from(value.bytes).toString('hex')}`;
  return String(value);
}

function arrayItem(value: DuckDBValue): string {
  if (value === null) return 'NULL';
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return postgresText(value);
  return `"${postgresText(value).replace(/["\\]/g, '\\$&')}"`;
}

/** Type ids of the PostgreSQL protocol. */
export const POSTGRES = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  json: 114,
  float4: 700,
  float8: 701,
  textArray: 1009,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  numeric: 1700,
  uuid: 2950,
} as const;

const CLOSEST: Partial<Record<DuckDBTypeId, number>> = {
  [DuckDBTypeId.BOOLEAN]: POSTGRES.bool,
  [DuckDBTypeId.TINYINT]: POSTGRES.int2,
  [DuckDBTypeId.UTINYINT]: POSTGRES.int2,
  [DuckDBTypeId.SMALLINT]: POSTGRES.int2,
  [DuckDBTypeId.USMALLINT]: POSTGRES.int4,
  [DuckDBTypeId.INTEGER]: POSTGRES.int4,
  [DuckDBTypeId.UINTEGER]: POSTGRES.int8,
  [DuckDBTypeId.BIGINT]: POSTGRES.int8,
  [DuckDBTypeId.UBIGINT]: POSTGRES.numeric,
  [DuckDBTypeId.HUGEINT]: POSTGRES.numeric,
  [DuckDBTypeId.UHUGEINT]: POSTGRES.numeric,
  [DuckDBTypeId.DECIMAL]: POSTGRES.numeric,
  [DuckDBTypeId.FLOAT]: POSTGRES.float4,
  [DuckDBTypeId.DOUBLE]: POSTGRES.float8,
  [DuckDBTypeId.DATE]: POSTGRES.date,
  [DuckDBTypeId.TIME]: POSTGRES.time,
  [DuckDBTypeId.TIMESTAMP]: POSTGRES.timestamp,
  [DuckDBTypeId.TIMESTAMP_S]: POSTGRES.timestamp,
  [DuckDBTypeId.TIMESTAMP_MS]: POSTGRES.timestamp,
  [DuckDBTypeId.TIMESTAMP_NS]: POSTGRES.timestamp,
  [DuckDBTypeId.TIMESTAMP_TZ]: POSTGRES.timestamptz,
  [DuckDBTypeId.INTERVAL]: POSTGRES.interval,
  [DuckDBTypeId.UUID]: POSTGRES.uuid,
  [DuckDBTypeId.BLOB]: POSTGRES.bytea,
  [DuckDBTypeId.STRUCT]: POSTGRES.json,
  [DuckDBTypeId.MAP]: POSTGRES.json,
};

/** Returns the closest type of the PostgreSQL protocol, text if there is none. */
export function postgresTypeOf(type: DuckDBType): number {
  if (type.typeId !== DuckDBTypeId.LIST) return CLOSEST[type.typeId] ?? POSTGRES.text;
  const item = (type as Extract<DuckDBType, { readonly valueType: DuckDBType }>).valueType;
  return item.typeId === DuckDBTypeId.VARCHAR ? POSTGRES.textArray : POSTGRES.text;
}
