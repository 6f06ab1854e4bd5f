import {
  arrowBatchStart,
  arrowFileEnd,
  arrowFileStart,
  padded,
  type BatchBlock,
} from '../../release/arrow-bytes.js';
import { encodeColumn } from '../../release/column-encode.js';
import { attributesSchema } from '../../release/format.js';
import { ColumnGroups, type ExportColumn } from './columns.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { columnRows } from './propagated.js';
import { RowEncoder, type ColumnRow, type ExportedSearch, type ExportQuery } from './rows.js';

/**
 * An uncompressed Arrow IPC file of these columns.
 * Cost    one record batch in memory, and a few bytes for each earlier one
 */
export class ArrowEncoder extends RowEncoder {
  readonly #groups = new ColumnGroups();
  readonly #blocks: BatchBlock[] = [];
  readonly #search: ExportedSearch;
  readonly #columns: readonly ExportColumn[];
  readonly #schema: ReturnType<typeof attributesSchema>;
  #pending: Uint8Array[];
  #offset: number;

  constructor(search: ExportedSearch, columns: readonly ExportColumn[]) {
    super();
    this.#search = search;
    this.#columns = columns;
    this.#schema = attributesSchema(columns);
    this.#pending = [arrowFileStart(this.#schema)];
    this.#offset = this.#pending[0].length;
  }

  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array {
    const rows = columnRows(query, this.#search, candidates);
    this.count(rows);
    for (const group of this.#groups.add(rows)) this.#addBatch(group);
    return this.#take();
  }

  end(): Uint8Array {
    const rest = this.#groups.end();
    if (rest.length > 0) this.#addBatch(rest);
    this.#pending.push(arrowFileEnd(this.#schema, this.#blocks));
    return this.#take();
  }

  #addBatch(rows: readonly ColumnRow[]): void {
    const { head, buffers } = encodeBatch(rows, this.#columns);
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

function encodeBatch(rows: readonly ColumnRow[], columns: readonly ExportColumn[]) {
  const encoded = columns.map(({ type, value }) => encodeColumn(type, rows.map(value)));
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
