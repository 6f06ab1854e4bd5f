import { EXPORT_GROUP_MAX_BYTES, EXPORT_GROUP_MAX_ROWS } from '../../limits.js';
import {
  arrowBatchStart,
  arrowFileEnd,
  arrowFileStart,
  padded,
  type BatchBlock,
} from '../../release/arrow-bytes.js';
import { encodeColumn } from '../../release/column-encode.js';
import { attributesSchema } from '../../release/format.js';
import { columnGroups, EXPORT_COLUMNS } from './columns.js';
import type { ExportEncoder } from './encoder.js';
import type { ExportRow } from './rows.js';

/** An Arrow IPC file, not compressed. Cost  a record batch in memory, and a few bytes for each one before it */
export function arrowEncoder(): ExportEncoder {
  const schema = attributesSchema(EXPORT_COLUMNS);
  const groups = columnGroups(EXPORT_GROUP_MAX_ROWS, EXPORT_GROUP_MAX_BYTES);
  const blocks: BatchBlock[] = [];
  let pending: Uint8Array[] = [arrowFileStart(schema)];
  let offset = pending[0].length;
  let recordCount = 0;
  const addBatch = (rows: readonly ExportRow[]): void => {
    const { head, buffers } = encodeBatch(rows);
    blocks.push({ offset, metadataBytes: head.bytes.length, bodyBytes: head.bodyBytes });
    pending.push(head.bytes, ...buffers.flatMap((buffer) => [buffer, padding(buffer)]));
    offset += head.bytes.length + head.bodyBytes;
  };
  const take = (): Uint8Array => {
    const bytes = Buffer.concat(pending);
    pending = [];
    return bytes;
  };
  return {
    add(rows) {
      recordCount += rows.length;
      groups.add(rows).forEach(addBatch);
      return take();
    },
    end() {
      const rest = groups.end();
      if (rest.length > 0) addBatch(rest);
      pending.push(arrowFileEnd(schema, blocks));
      return take();
    },
    get recordCount() {
      return recordCount;
    },
  };
}

function encodeBatch(rows: readonly ExportRow[]) {
  const encoded = EXPORT_COLUMNS.map(({ type, value }) => encodeColumn(type, rows.map(value)));
  const buffers = encoded.flatMap((column) => column.buffers);
  const head = arrowBatchStart({
    rows: rows.length,
    nodes: encoded.flatMap((column) => column.nodes),
    bufferBytes: buffers.map((buffer) => buffer.length),
  });
  return { head, buffers };
}

function padding({ length }: Uint8Array): Buffer {
  return Buffer.alloc(padded(length) - length);
}
