import {
  DuckDBArrayType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBUnionType,
  type DuckDBType,
} from '@duckdb/node-api';
import { StatementFailure } from './failure.js';

/** Columns of a prepared statement or of a result. */
interface Columns {
  readonly columnCount: number;
  columnName(index: number): string;
  columnType(index: number): DuckDBType;
}

/**
 * Returns the types of a statement's columns.
 * Errors  StatementFailure `invalid` for types whose values the engine's library changes or cannot read
 */
export function columnTypesOf(columns: Columns): DuckDBType[] {
  return Array.from({ length: columns.columnCount }, (_, index) => columnTypeOf(columns, index));
}

function columnTypeOf(columns: Columns, index: number): DuckDBType {
  let type: DuckDBType;
  try {
    type = columns.columnType(index);
  } catch {
    // The engine's library has no class for this type.
    throw unsupported(columns.columnName(index), 'has an unsupported type, such as VARIANT or GEOMETRY');
  }
  const lost = lostMember(type);
  if (lost === undefined) return type;
  throw unsupported(
    columns.columnName(index),
    lost === ''
      ? 'holds a struct without names'
      : `holds a struct with a member "${lost}", which cannot be read`,
  );
}

function unsupported(name: string, why: string): StatementFailure {
  return new StatementFailure('invalid', `The column "${name}" ${why}; cast it to VARCHAR or JSON.`);
}

/**
 * Returns the first struct member that the library loses, or undefined. It reads structs into objects, where `__proto__`
 * has a special meaning and one of two equal names is lost.
 */
function lostMember(type: DuckDBType): string | undefined {
  if (type instanceof DuckDBStructType) {
    const { entryNames: names, entryTypes } = type;
    const lost = names.find((name, index) => name === '__proto__' || names.indexOf(name) !== index);
    return lost ?? firstLost(entryTypes);
  }
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) return lostMember(type.valueType);
  if (type instanceof DuckDBMapType) return firstLost([type.keyType, type.valueType]);
  if (type instanceof DuckDBUnionType) return firstLost(type.memberTypes);
  return undefined;
}

function firstLost(types: readonly DuckDBType[]): string | undefined {
  for (const type of types) {
    const lost = lostMember(type);
    if (lost !== undefined) return lost;
  }
  return undefined;
}
