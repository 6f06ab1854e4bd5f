import { open } from 'node:fs/promises';
import { RecordBatchReader, type AsyncRecordBatchFileReader, type Data, type Schema } from 'apache-arrow';
import { Fault } from '../errors.js';
import { arrowBatchStart, arrowFileEnd, arrowFileStart, padded, type BatchBlock } from './arrow-bytes.js';
import type { EncodedColumn } from './column-encode.js';
import { openHashedFile } from './hashed-file.js';
import type { FileEntry } from './release.js';

/** Writes an Arrow table batch by batch. */
export interface TableFile {
  /** All batches but the last must have BATCH_ROWS rows. */
  writeBatch(rows: number, columns: readonly EncodedColumn[]): Promise<void>;
  finish(): Promise<FileEntry>;
  abandon(): Promise<void>;
}

export async function createTableFile(path: string, schema: Schema): Promise<TableFile> {
  const file = await openHashedFile(path);
  const blocks: BatchBlock[] = [];
  await file.write(arrowFileStart(schema));
  return {
    async writeBatch(rows, columns) {
      const buffers = columns.flatMap((column) => column.buffers);
      const start = arrowBatchStart({
        rows,
        nodes: columns.flatMap((column) => column.nodes),
        bufferBytes: buffers.map((buffer) => buffer.length),
      });
      blocks.push({ offset: file.sizeBytes, metadataBytes: start.bytes.length, bodyBytes: start.bodyBytes });
      await file.write(start.bytes);
      for (const buffer of buffers) {
        await file.write(buffer);
        await file.write(Buffer.alloc(padded(buffer.length) - buffer.length));
      }
    },
    async finish() {
      await file.write(arrowFileEnd(schema, blocks));
      return file.finish();
    },
    abandon: () => file.abandon(),
  };
}

/** Some rows of an Arrow table. */
export interface TableBatch {
  readonly rowCount: number;
  /** Errors  Fault where the table has no such column */
  column(name: string): Data;
}

/**
 * An Arrow table batch by batch.
 * Errors  Fault naming the file where it cannot be read
 */
export async function* readTableBatches(path: string): AsyncGenerator<TableBatch> {
  const handle = await open(path, 'r');
  try {
    const reader = await RecordBatchReader.from(handle);
    for await (const batch of reader) {
      if (batch.numRows === 0) continue;
      const column = (name: string): Data => {
        const index = batch.schema.fields.findIndex((field) => field.name === name);
        if (index === -1) throw new Fault(`${path} lacks the column ${name}.`);
        return batch.data.children[index];
      };
      yield { rowCount: batch.numRows, column };
    }
  } catch (cause) {
    throw new Fault(`${path} is no readable Arrow file; gloaming index verify says which bytes changed.`, {
      cause,
    });
  } finally {
    await handle.close();
  }
}

/**
 * Columns of an Arrow table by name, each as the parts that its record batches hold, in memory.
 * Errors  Fault naming the file where it cannot be read
 */
export async function readTableFile(path: string): Promise<ReadonlyMap<string, readonly Data[]>> {
  const handle = await open(path, 'r');
  try {
    const reader = await RecordBatchReader.from(handle);
    const columns = new Map<string, Data[]>();
    await (reader as AsyncRecordBatchFileReader).open();
    for (const field of reader.schema.fields) columns.set(field.name, []);
    for await (const batch of reader) {
      if (batch.numRows === 0) continue;
      batch.schema.fields.forEach(({ name }, index) => columns.get(name)?.push(batch.data.children[index]));
    }
    return columns;
  } catch (cause) {
    throw new Fault(`${path} is no readable Arrow file; gloaming index verify says which bytes changed.`, {
      cause,
    });
  } finally {
    await handle.close();
  }
}
