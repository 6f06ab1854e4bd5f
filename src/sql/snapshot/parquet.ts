import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import { PARQUET_GROUP_MAX_CHARACTERS, PARQUET_GROUP_MAX_ROWS } from '../../limits.js';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

type ParquetType = 'string' | 'integer' | 'int32' | 'number' | 'boolean' | 'string_list' | 'moment';

export interface ParquetColumn<Row> {
  readonly name: string;
  readonly type: ParquetType;
  /** Value of the column: undefined is null, an integer is a number without fraction, a timestamp is ISO text. */
  readonly read: (row: Row) => unknown;
  /** True for values that rarely repeat or compress, such as sequences. The writer skips dictionary and compression. */
  readonly isPlain?: boolean;
}

/**
 * Writes rows as a Parquet file, atomically: under a temporary name, synced, then renamed. A failed write removes its
 * temporary file, so that it does not use space on a full disk. The writer blocks its thread, so a server must not call
 * it on its event loop.
 * Cost    holds one row group, 65,536 rows or 64 Mi characters of text
 * Errors  those of the file system
 */
export async function writeParquet<Row>(
  path: string,
  columns: readonly ParquetColumn<Row>[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.new`;
  try {
    await writeRows(temporary, columns, rows);
    sync(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  sync(dirname(path));
}

async function writeRows<Row>(
  path: string,
  columns: readonly ParquetColumn<Row>[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): Promise<void> {
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(({ name, type }) => elementsOf(name, type)),
  ];
  const writer = new ParquetWriter({ writer: fileWriter(path), schema });
  let group: unknown[][] = columns.map(() => []);
  let rowCount = 0;
  let characters = 0;
  const close = (): void => {
    if (rowCount === 0) return;
    const columnData = columns.map(({ name, isPlain = false }, index) => ({
      name,
      data: group[index],
      ...(isPlain && { encoding: 'PLAIN' as const, codec: 'UNCOMPRESSED' as const, statistics: false }),
    }));
    void writer.write({ columnData, rowGroupSize: rowCount });
    group = columns.map(() => []);
    rowCount = 0;
    characters = 0;
  };
  for await (const row of rows) {
    for (const [index, { type, read }] of columns.entries()) {
      const value = valueOf(type, read(row));
      if (typeof value === 'string') characters += value.length;
      group[index].push(value);
    }
    rowCount += 1;
    if (rowCount >= PARQUET_GROUP_MAX_ROWS || characters >= PARQUET_GROUP_MAX_CHARACTERS) close();
  }
  close();
  void writer.finish();
}

const SCALARS: Readonly<Record<Exclude<ParquetType, 'string_list'>, Partial<SchemaElement>>> = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  int32: { type: 'INT32' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  moment: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

function elementsOf(name: string, type: ParquetType): SchemaElement[] {
  if (type !== 'string_list') return [{ name, repetition_type: 'OPTIONAL', ...SCALARS[type] }];
  return [
    { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED', ...SCALARS.string },
  ];
}

function valueOf(type: ParquetType, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  if (type === 'integer') return BigInt(value as number);
  if (type === 'moment') return new Date(value as string);
  return value;
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
