import { assert } from '../../errors.js';
import type { ControlStore } from '../control-store.js';
import type { Objects } from './objects.js';

/** What a file holds: named by the SHA-256 of the whole, stored as objects of equal size (the last may be shorter). */
export interface Content {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly segmentBytes: number;
}

/** The tables `contents` and `content-segments`: equal content is there once, however it was cut when it came. */
export interface ContentTable {
  get(sha256: string): Content | undefined;
  /** Counts one more file with this content; its segments must be there. Only inside a transaction. */
  addReference(content: Content, segments: readonly string[]): void;
  /** Only inside a transaction. */
  dropReference(sha256: string): void;
  /**
   * Bytes [start, end), readable to their end even where the content is dropped meanwhile; `close` gives them free.
   * undefined where there is no such content any more
   */
  open(sha256: string, start: number, end: number): OpenContent | undefined;
}

export interface OpenContent {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Not needed after the bytes have been read or their iteration has been ended. */
  close(): void;
}

interface ContentRow {
  readonly sizeBytes: number;
  readonly segmentBytes: number;
  readonly referenceCount: number;
}

const DIGEST_BYTES = 32;

export function contentTable(store: ControlStore, objects: Objects): ContentTable {
  const rows = store.table<ContentRow>('contents');
  /** Digests of the segments in order, 32 bytes each. */
  const digests = store.bytes('content-segments');
  const segmentsOf = (sha256: string, first: number, last: number): string[] => {
    const packed = digests.get(sha256) as Buffer;
    return Array.from({ length: last - first }, (_, index) => {
      const at = (first + index) * DIGEST_BYTES;
      return packed.toString('hex', at, at + DIGEST_BYTES);
    });
  };
  const sizeAt = ({ sizeBytes, segmentBytes }: Content | ContentRow, index: number): number =>
    Math.min(segmentBytes, sizeBytes - index * segmentBytes);

  return {
    get(sha256) {
      const row = rows.get(sha256);
      return row && { sha256, sizeBytes: row.sizeBytes, segmentBytes: row.segmentBytes };
    },
    addReference(content, segments) {
      const { sha256, sizeBytes, segmentBytes } = content;
      const known = rows.get(sha256);
      if (known !== undefined) {
        rows.putSync(sha256, { ...known, referenceCount: known.referenceCount + 1 });
        return;
      }
      assert(segments.length === Math.ceil(sizeBytes / segmentBytes), 'the segments make the whole');
      rows.putSync(sha256, { sizeBytes, segmentBytes, referenceCount: 1 });
      digests.putSync(sha256, Buffer.from(segments.join(''), 'hex'));
      segments.forEach((segment, index) => objects.addReference(segment, sizeAt(content, index)));
    },
    dropReference(sha256) {
      const row = rows.get(sha256) as ContentRow;
      if (row.referenceCount > 1) {
        rows.putSync(sha256, { ...row, referenceCount: row.referenceCount - 1 });
        return;
      }
      for (const segment of segmentsOf(sha256, 0, Math.ceil(row.sizeBytes / row.segmentBytes))) {
        objects.dropReference(segment);
      }
      rows.removeSync(sha256);
      digests.removeSync(sha256);
    },
    open(sha256, start, end) {
      const row = rows.get(sha256);
      if (row === undefined) return undefined;
      assert(start >= 0 && start <= end && end <= row.sizeBytes, 'a range of the content is asked for');
      const first = Math.floor(start / row.segmentBytes);
      const last = Math.ceil(end / row.segmentBytes);
      const segments = segmentsOf(sha256, first, last);
      const close = objects.pin(segments);
      return { close, bytes: readSegments() };
      async function* readSegments(): AsyncGenerator<Uint8Array> {
        try {
          for (const [index, segment] of segments.entries()) {
            const offset = (first + index) * (row as ContentRow).segmentBytes;
            const size = sizeAt(row as ContentRow, first + index);
            yield* objects.read(segment, Math.max(0, start - offset), Math.min(size, end - offset));
          }
        } finally {
          close();
        }
      }
    },
  };
}
