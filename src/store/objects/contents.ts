import { assert } from '../../errors.js';
import type { ControlStore, Table } from '../control-store.js';
import type { Objects } from './objects.js';

/**
 * Content of a file. Its name is the SHA-256 of the whole. It is stored as objects of equal size, the last may be
 * shorter.
 */
export interface Content {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly segmentBytes: number;
}

export interface OpenContent {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Releases the content. Not needed after the bytes were read or their iteration was ended. */
  readonly close: () => void;
}

interface ContentRow {
  readonly sizeBytes: number;
  readonly segmentBytes: number;
  readonly referenceCount: number;
}

const DIGEST_BYTES = 32;

/** The tables `contents` and `content-segments`. Equal content is stored once, whatever its upload parts were. */
export class ContentTable {
  readonly #objects: Objects;
  readonly #rows: Table<ContentRow>;
  /** Digests of the segments in order, 32 bytes each. */
  readonly #digests: Table<Buffer>;

  constructor(store: ControlStore, objects: Objects) {
    this.#objects = objects;
    this.#rows = store.table<ContentRow>('contents');
    this.#digests = store.bytes('content-segments');
  }

  get(sha256: string): Content | undefined {
    const row = this.#rows.get(sha256);
    return row && { sha256, sizeBytes: row.sizeBytes, segmentBytes: row.segmentBytes };
  }

  /** Counts one more file with this content, whose segments must exist. Only inside a transaction. */
  addReference(content: Content, segments: readonly string[]): void {
    const { sha256, sizeBytes, segmentBytes } = content;
    const row = this.#rows.get(sha256);
    if (row !== undefined) {
      this.#rows.putSync(sha256, { ...row, referenceCount: row.referenceCount + 1 });
      return;
    }
    assert(segments.length === segmentCountOf(content), 'the segments make the whole');
    this.#rows.putSync(sha256, { sizeBytes, segmentBytes, referenceCount: 1 });
    this.#digests.putSync(sha256, Buffer.from(segments.join(''), 'hex'));
    segments.forEach((segment, index) => this.#objects.addReference(segment, sizeAt(content, index)));
  }

  /** Only inside a transaction. */
  dropReference(sha256: string): void {
    const row = this.#rows.get(sha256) as ContentRow;
    if (row.referenceCount > 1) {
      this.#rows.putSync(sha256, { ...row, referenceCount: row.referenceCount - 1 });
      return;
    }
    for (const segment of this.#segments(sha256, 0, segmentCountOf(row)))
      this.#objects.dropReference(segment);
    this.#rows.removeSync(sha256);
    this.#digests.removeSync(sha256);
  }

  /**
   * Opens bytes [start, end) of a content. They stay readable to their end even if the content is dropped meanwhile.
   * `close` releases them. undefined if there is no such content.
   */
  open(sha256: string, start: number, end: number): OpenContent | undefined {
    const row = this.#rows.get(sha256);
    if (row === undefined) return undefined;
    assert(start >= 0 && start <= end && end <= row.sizeBytes, 'the range lies within the content');
    const first = Math.floor(start / row.segmentBytes);
    const last = Math.ceil(end / row.segmentBytes);
    const pieces = this.#segments(sha256, first, last).map((segment, index) => {
      const offset = (first + index) * row.segmentBytes;
      const size = sizeAt(row, first + index);
      return { sha256: segment, start: Math.max(0, start - offset), end: Math.min(size, end - offset) };
    });
    const close = this.#objects.pin(pieces.map((piece) => piece.sha256));
    return { close, bytes: this.#read(pieces, close) };
  }

  async *#read(pieces: readonly Piece[], close: () => void): AsyncGenerator<Uint8Array> {
    try {
      for (const { sha256, start, end } of pieces) yield* this.#objects.read(sha256, start, end);
    } finally {
      close();
    }
  }

  #segments(sha256: string, first: number, last: number): string[] {
    const packed = this.#digests.get(sha256) as Buffer;
    return Array.from({ length: last - first }, (_, index) => {
      const at = (first + index) * DIGEST_BYTES;
      return packed.toString('hex', at, at + DIGEST_BYTES);
    });
  }
}

/** Bytes [start, end) of an object. */
interface Piece {
  readonly sha256: string;
  readonly start: number;
  readonly end: number;
}

type Cut = Pick<Content, 'sizeBytes' | 'segmentBytes'>;

function segmentCountOf({ sizeBytes, segmentBytes }: Cut): number {
  return Math.ceil(sizeBytes / segmentBytes);
}

function sizeAt({ sizeBytes, segmentBytes }: Cut, index: number): number {
  return Math.min(segmentBytes, sizeBytes - index * segmentBytes);
}
