import {
  DuckDBArrayType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBUnionType,
  type DuckDBType,
} from '@duckdb/node-api';
import { StatementFailure } from './failure.js';

/** The columns of a prepared statement or of a result. */
interface Columns {
  readonly columnCount: number;
  columnName(index: number): string;
  columnType(index: number): DuckDBType;
}

/**
 * Returns the types of the columns.
 * Errors  StatementFailure `invalid` for a type whose values the library cannot return unchanged
 */
export function givenTypes(columns: Columns): DuckDBType[] {
  return Array.from({ length: columns.columnCount }, (_, index) => givenType(columns, index));
}

function givenType(columns: Columns, index: number): DuckDBType {
  let type: DuckDBType;
  try {
    type = columns.columnType(index);
  } catch {
    // The engine's JavaScript library does not know the type.
    throw notGiven(columns.columnName(index), 'has an unsupported type, such as VARIANT or GEOMETRY');
  }
  const lost = lostMember(type);
  if (lost === undefined) return type;
  throw notGiven(
    columns.columnName(index),
    lost === ''
      ? 'holds a struct without names'
      : `holds a struct with a member "${lost}", which cannot be read`,
  );
}

function notGiven(name: string, why: string): StatementFailure {
  return new StatementFailure('invalid', `The column "${name}" ${why}; cast it to VARCHAR or JSON.`);
}

/**
 * Returns the first struct member that the library would lose. It returns structs as objects, where `__proto__` is
 * special and equal names overwrite each other.
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
