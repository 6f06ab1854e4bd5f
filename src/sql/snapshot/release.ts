import { join } from 'node:path';
import { attributeColumnOf, int32Column, textColumn } from '../../release/columns.js';
import { ATTRIBUTES_FILE, TARGETS_FILE } from '../../release/format.js';
import type { FilterField } from '../../release/release.js';
import { readTableBatches } from '../../release/table-file.js';
import { writeParquet, type ParquetColumn } from './parquet.js';
import { attributeColumn } from '../tables.js';

/** Inputs of the Parquet file of a release. */
export interface ReleaseJob {
  readonly kind: 'release';
  /** Folder of the release. */
  readonly directory: string;
  readonly fields: readonly FilterField[];
  /** Path of the Parquet file to write. */
  readonly path: string;
}

interface TargetRow {
  readonly index: number;
  readonly read: (column: string) => unknown;
}

/**
 * Writes targets and attributes of a release as one Parquet file, one row per target in the order of the release.
 * Cost    reads the two Arrow files once; holds one of their batches and one row group
 * Errors  those of the file system
 */
export async function snapshotRelease({ directory, fields, path }: ReleaseJob): Promise<void> {
  const columns: ParquetColumn<TargetRow>[] = [
    { name: 'target_index', type: 'int32', read: ({ index }) => index },
    { name: 'target_id', type: 'string', read: ({ read }) => read('id') },
    { name: 'length', type: 'int32', read: ({ read }) => read('length') },
    { name: 'sequence', type: 'string', read: ({ read }) => read('sequence'), isPlain: true },
    ...fields.map((field, index): ParquetColumn<TargetRow> => {
      const name = attributeColumn(index);
      return { name, type: field.type, read: ({ read }) => read(name) };
    }),
  ];
  await writeParquet(path, columns, rowsOf(directory, fields));
}

async function* rowsOf(directory: string, fields: readonly FilterField[]): AsyncGenerator<TargetRow> {
  const attributes = readTableBatches(join(directory, ATTRIBUTES_FILE));
  let first = 0;
  try {
    for await (const batch of readTableBatches(join(directory, TARGETS_FILE))) {
      const beside = await attributes.next();
      const attribute = beside.done ? undefined : beside.value;
      const columns = new Map<string, (row: number) => unknown>([
        ['id', textColumn([batch.column('id')], 'utf8')],
        ['length', int32Column([batch.column('length')])],
        ['sequence', textColumn([batch.column('sequence')], 'latin1')],
        // A release without attributes has no attribute batches.
        ...fields.map(({ name, type }, index): [string, (row: number) => unknown] => [
          attributeColumn(index),
          attribute === undefined ? () => undefined : attributeColumnOf(type, [attribute.column(name)]),
        ]),
      ]);
      for (let row = 0; row < batch.rowCount; row += 1) {
        yield { index: first + row, read: (name) => columns.get(name)?.(row) };
      }
      first += batch.rowCount;
    }
  } finally {
    // A generator that is not read to its end keeps its file open.
    await attributes.return(undefined);
  }
}
