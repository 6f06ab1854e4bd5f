import {
  arrowBatchStart,
  arrowFileEnd,
  arrowFileStart,
  padded,
  type BatchBlock,
} from '../../release/arrow-bytes.js';
import { encodeColumn } from '../../release/column-encode.js';
import { attributesSchema } from '../../release/format.js';
import { ColumnGroups, EXPORT_COLUMNS } from './columns.js';
import type { ExportEncoder, ExportRow } from './rows.js';

const SCHEMA = attributesSchema(EXPORT_COLUMNS);

/** An Arrow IPC file, not compressed. Cost  a record batch in memory, and a few bytes for each one before it */
export class ArrowEncoder implements ExportEncoder {
  readonly #groups = new ColumnGroups();
  readonly #blocks: BatchBlock[] = [];
  #pending: Uint8Array[] = [arrowFileStart(SCHEMA)];
  #offset = this.#pending[0].length;
  #recordCount = 0;

  get recordCount(): number {
    return this.#recordCount;
  }

  add(rows: readonly ExportRow[]): Uint8Array {
    this.#recordCount += rows.length;
    for (const group of this.#groups.add(rows)) this.#addBatch(group);
    return this.#take();
  }

  end(): Uint8Array {
    const rest = this.#groups.end();
    if (rest.length > 0) this.#addBatch(rest);
    this.#pending.push(arrowFileEnd(SCHEMA, this.#blocks));
    return this.#take();
  }

  #addBatch(rows: readonly ExportRow[]): void {
    const { head, buffers } = encodeBatch(rows);
    const metadataBytes = head.bytes.length;
    this.#blocks.push({ offset: this.#offset, metadataBytes, bodyBytes: head.bodyBytes });
    this.#pending.push(head.bytes, ...buffers.flatMap((buffer) => [buffer, padding(buffer)]));
    this.#offset += metadataBytes + head.bodyBytes;
  }

  #take(): Uint8Array {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    return bytes;
  }
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
