import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { EXPORT_GROUP_MAX_BYTES, EXPORT_GROUP_MAX_ROWS } from '../../limits.js';
import { columnGroups, EXPORT_COLUMNS, type ExportColumn } from './columns.js';
import type { ExportEncoder } from './encoder.js';
import type { ExportRow } from './rows.js';

const ELEMENTS = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
} as const;

/** A Parquet file, Snappy-compressed. Cost  a row group in memory, and about 5 KiB for each one before it */
export function parquetEncoder(): ExportEncoder {
  const bytes = new ByteWriter();
  const schema: SchemaElement[] = [
    { name: 'root', num_children: EXPORT_COLUMNS.length },
    ...EXPORT_COLUMNS.map(elementOf),
  ];
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'gloaming' });
  const groups = columnGroups(EXPORT_GROUP_MAX_ROWS, EXPORT_GROUP_MAX_BYTES);
  let recordCount = 0;
  const addGroup = (rows: readonly ExportRow[]): void => {
    const columnData = EXPORT_COLUMNS.map(({ name, type, value }) => ({
      name,
      data: rows.map((row) => cellOf(type, value(row))),
      // Whoever reads such a file reads whole row groups: they are small.
      offsetIndex: false,
    }));
    void file.write({ columnData, rowGroupSize: rows.length });
  };
  const take = (): Uint8Array => {
    const taken = bytes.getBytes().slice();
    // `offset` goes on counting: it is what the file's footer refers to.
    bytes.index = 0;
    return taken;
  };
  return {
    add(rows) {
      recordCount += rows.length;
      groups.add(rows).forEach(addGroup);
      return take();
    },
    end() {
      const rest = groups.end();
      if (rest.length > 0) addGroup(rest);
      void file.finish();
      return take();
    },
    get recordCount() {
      return recordCount;
    },
  };
}

function elementOf({ name, type }: ExportColumn): SchemaElement {
  return { name, ...ELEMENTS[type], repetition_type: 'OPTIONAL' };
}

function cellOf(type: ExportColumn['type'], value: string | number | undefined) {
  return type === 'integer' && value !== undefined ? BigInt(value) : value;
}
