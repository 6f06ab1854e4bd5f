import {
  arrowBatchStart,
  arrowFileEnd,
  arrowFileStart,
  padded,
  type BatchBlock,
} from '../../release/arrow-bytes.js';
import { encodeColumn } from '../../release/column-encode.js';
import { attributesSchema } from '../../release/format.js';
import { searchColumns } from './columns.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

/** An Arrow IPC file with the columns of the TSV format, one record batch per query; an absent value is null. */
export async function* formatArrow(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  const columns = searchColumns(layout.hasAlignments);
  const schema = attributesSchema(columns);
  const blocks: BatchBlock[] = [];
  const start = arrowFileStart(schema);
  yield start;
  let offset = start.length;
  for await (const report of reports) {
    const { candidates } = report.result;
    const encoded = columns.map((column) =>
      encodeColumn(
        column.type,
        candidates.map((candidate) => column.value(candidate, report)),
      ),
    );
    const buffers = encoded.flatMap((column) => column.buffers);
    const head = arrowBatchStart({
      rows: candidates.length,
      nodes: encoded.flatMap((column) => column.nodes),
      bufferBytes: buffers.map((buffer) => buffer.length),
    });
    blocks.push({ offset, metadataBytes: head.bytes.length, bodyBytes: head.bodyBytes });
    yield Buffer.concat([head.bytes, ...buffers.flatMap((buffer) => [buffer, padding(buffer)])]);
    offset += head.bytes.length + head.bodyBytes;
  }
  yield arrowFileEnd(schema, blocks);
}

function padding({ length }: Uint8Array): Buffer {
  return Buffer.alloc(padded(length) - length);
}
