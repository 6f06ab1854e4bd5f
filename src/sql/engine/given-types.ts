import {
  DuckDBArrayType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBUnionType,
  type DuckDBType,
} from '@duckdb/node-api';
import { StatementFailure } from './failure.js';

/** What comes out of a statement, before or after it is executed. */
interface Columns {
  readonly columnCount: number;
  columnName(index: number): string;
  columnType(index: number): DuckDBType;
}

/**
 * The types of a statement's columns.
 * Errors  StatementFailure `invalid` for values that would come out changed, or not at all
 */
export function givenTypes(columns: Columns): DuckDBType[] {
  return Array.from({ length: columns.columnCount }, (_, index) => givenType(columns, index));
}

function givenType(columns: Columns, index: number): DuckDBType {
  let type: DuckDBType;
  try {
    type = columns.columnType(index);
  } catch {
    // The engine's own library has no word for it.
    throw notGiven(
      columns.columnName(index),
      'has a type that is not given out, as VARIANT and GEOMETRY are not',
    );
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

/** The library reads structs into objects: there this name means something else, and one name hides another like it. */
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
