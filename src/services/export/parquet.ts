import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { ColumnGroups, EXPORT_COLUMNS, type ExportColumn } from './columns.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { columnRows } from './propagated.js';
import { RowEncoder, type ColumnRow, type ExportedSearch, type ExportQuery } from './rows.js';

const ELEMENTS = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
} as const;

/** A Parquet file, Snappy-compressed. Cost  a row group in memory, and about 5 KiB for each earlier one */
export class ParquetEncoder extends RowEncoder {
  readonly #bytes = new ByteWriter();
  readonly #file: ParquetWriter;
  readonly #groups = new ColumnGroups();
  readonly #search: ExportedSearch;

  constructor(search: ExportedSearch) {
    super();
    this.#search = search;
    const schema: SchemaElement[] = [
      { name: 'root', num_children: EXPORT_COLUMNS.length },
      ...EXPORT_COLUMNS.map(elementOf),
    ];
    this.#file = new ParquetWriter({ writer: this.#bytes, schema, createdBy: 'gloaming' });
  }

  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array {
    const rows = columnRows(query, this.#search, candidates);
    this.count(rows);
    for (const group of this.#groups.add(rows)) this.#addGroup(group);
    return this.#take();
  }

  end(): Uint8Array {
    const rest = this.#groups.end();
    if (rest.length > 0) this.#addGroup(rest);
    void this.#file.finish();
    return this.#take();
  }

  #addGroup(rows: readonly ColumnRow[]): void {
    const columnData = EXPORT_COLUMNS.map(({ name, type, value }) => ({
      name,
      data: rows.map((row) => cellOf(type, value(row))),
      // Readers of such a file read whole row groups, because these are small.
      offsetIndex: false,
    }));
    void this.#file.write({ columnData, rowGroupSize: rows.length });
  }

  #take(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice();
    // `offset` continues to count, because the file's footer refers to it.
    this.#bytes.index = 0;
    return bytes;
  }
}

function elementOf({ name, type }: ExportColumn): SchemaElement {
  return { name, ...ELEMENTS[type], repetition_type: 'OPTIONAL' };
}

function cellOf(type: ExportColumn['type'], value: string | number | undefined) {
  return type === 'integer' && value !== undefined ? BigInt(value) : value;
}

/** A column of a table that is written at once. undefined becomes null. */
export interface TableColumn<Row> {
  readonly name: string;
  readonly type: ExportColumn['type'];
  readonly value: (row: Row) => string | number | undefined;
}

/** Rows of one row group. */
const TABLE_GROUP_ROWS = 50_000;

/** Writes a table as a Parquet file, Snappy-compressed. Cost  the whole file in memory */
export function parquetTable<Row>(columns: readonly TableColumn<Row>[], rows: Iterable<Row>): Uint8Array {
  const bytes = new ByteWriter();
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }): SchemaElement => ({
      name,
      ...ELEMENTS[type],
      repetition_type: 'OPTIONAL',
    })),
  ];
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'gloaming' });
  const write = (group: readonly Row[]): void => {
    const columnData = columns.map(({ name, type, value }) => ({
      name,
      data: group.map((row) => cellOf(type, value(row))),
      offsetIndex: false,
    }));
    void file.write({ columnData, rowGroupSize: group.length });
  };
  let group: Row[] = [];
  for (const row of rows) {
    group.push(row);
    if (group.length < TABLE_GROUP_ROWS) continue;
    write(group);
    group = [];
  }
  if (group.length > 0) write(group);
  void file.finish();
  return bytes.getBytes().slice();
}
