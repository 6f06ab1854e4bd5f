import { MessageHeader, MetadataVersion, type Schema } from 'apache-arrow';
import { FileBlock, Footer } from 'apache-arrow/ipc/metadata/file';
import { BufferRegion, FieldNode, Message, RecordBatch } from 'apache-arrow/ipc/metadata/message';

/*
 * Arrow IPC files, byte by byte: `ARROW1\0\0`, schema message, record batches, end mark, footer, `ARROW1`. Apache
 * Arrow's JavaScript writer needs whole batches in memory and aligns to 8 bytes. Therefore only its encoders of the
 * flatbuffer metadata are used, and callers write the bodies. Every message, body and buffer starts at a multiple of 64
 * bytes in the file, so that a mapped buffer is aligned for every instruction set.
 * Source  https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
 */

const ARROW_ALIGNMENT_BYTES = 64;

const MAGIC = 'ARROW1';
const CONTINUATION = 0xffff_ffff;

/**
 * Shape of one record batch: a node for each field and child, a byte length for each buffer, in Arrow's
 * order.
 */
export interface BatchLayout {
  readonly rows: number;
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  readonly bufferBytes: readonly number[];
}

/** Where a record batch stands in its file; the footer lists them. */
export interface BatchBlock {
  readonly offset: number;
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/** Everything before the first record batch; its length is a multiple of 64. */
export function arrowFileStart(schema: Schema): Buffer {
  const magic = Buffer.from(MAGIC.padEnd(8, '\0'), 'latin1');
  return Buffer.concat([magic, frame(Message.encode(Message.from(schema)), magic.length)]);
}

/** Everything before the first record batch of a stream. */
export function arrowStreamStart(schema: Schema): Buffer {
  return frame(Message.encode(Message.from(schema)), 0);
}

/** Everything after the last body of a stream. */
export const ARROW_STREAM_END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/**
 * The metadata of one record batch; the body of `bodyBytes` must follow, each buffer padded with zeros to
 * 64 bytes.
 * Range   lengths to 2⁵³: the metadata holds 64-bit lengths, so that a body may be any size
 */
export function arrowBatchStart(layout: BatchLayout): { bytes: Buffer; bodyBytes: number } {
  let bodyBytes = 0;
  const regions = layout.bufferBytes.map((length) => {
    const region = new BufferRegion(bodyBytes, length);
    bodyBytes += padded(length);
    return region;
  });
  const nodes = layout.nodes.map(({ length, nullCount }) => new FieldNode(length, nullCount));
  const batch = new RecordBatch(layout.rows, nodes, regions, null);
  const message = new Message(bodyBytes, MetadataVersion.V5, MessageHeader.RecordBatch, batch);
  return { bytes: frame(Message.encode(message), 0), bodyBytes };
}

/** Everything after the last body. */
export function arrowFileEnd(schema: Schema, blocks: readonly BatchBlock[]): Buffer {
  const footer = Footer.encode(
    new Footer(
      schema,
      MetadataVersion.V5,
      blocks.map(({ offset, metadataBytes, bodyBytes }) => new FileBlock(metadataBytes, bodyBytes, offset)),
      [],
    ),
  );
  const endMark = Buffer.alloc(8);
  endMark.writeUInt32LE(CONTINUATION, 0);
  const length = Buffer.alloc(4);
  length.writeInt32LE(footer.length);
  return Buffer.concat([endMark, footer, length, Buffer.from(MAGIC, 'latin1')]);
}

/** Bytes that a buffer of this length takes in a body. */
export function padded(bytes: number): number {
  return Math.ceil(bytes / ARROW_ALIGNMENT_BYTES) * ARROW_ALIGNMENT_BYTES;
}

/** A message with its mark and length, padded so that what follows it stands at a multiple of 64 bytes. */
function frame(metadata: Uint8Array, position: number): Buffer {
  const prefixBytes = 8;
  const end = padded(position + prefixBytes + metadata.length);
  const framed = Buffer.alloc(end - position);
  framed.writeUInt32LE(CONTINUATION, 0);
  framed.writeInt32LE(framed.length - prefixBytes, 4);
  framed.set(metadata, prefixBytes);
  return framed;
}
