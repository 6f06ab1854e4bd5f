import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { createIdTable } from './id-table.js';

/** Rows of text by id in a file; an id may have several rows. Memory is 16 to 32 bytes per id. */
export interface KeyedRows {
  readonly count: number;
  /** Adds a row. Neither the id nor a cell may contain a tab. */
  add(id: string, cells: readonly string[]): void;
  /** Returns the rows of an id in the order of their addition; empty without rows. */
  find(id: string): readonly (readonly string[])[];
  close(): void;
}

const FLUSH_BYTES = 1 << 20;
/** Head of each row: offset of the previous row with the same hash, or −1, and the length of its text. */
const HEAD_BYTES = 12;
/** Most rows are shorter than this and are read together with their head. */
const FIRST_READ_BYTES = 1024;

/** Creates the file. The caller removes it. */
export function createKeyedRows(path: string): KeyedRows {
  const file = createRowFile(path);
  // Ids with equal 64-bit hashes share a chain. Each row has its id, so they can be distinguished.
  const lastOf = createIdTable();
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(id, cells) {
      lastOf.set(id, file.append(lastOf.get(id) ?? -1, [id, ...cells].join('\t')));
      count += 1;
    },
    find(id) {
      const rows: (readonly string[])[] = [];
      for (let offset = lastOf.get(id) ?? -1; offset >= 0;) {
        const { previous, text } = file.read(offset);
        const [owner, ...cells] = text.split('\t');
        if (owner === id) rows.push(cells);
        offset = previous;
      }
      return rows.reverse();
    },
    close: () => file.close(),
  };
}

function createRowFile(path: string) {
  const file = openSync(path, 'w+');
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let size = 0;
  const flush = (): void => {
    const bytes = Buffer.concat(waiting);
    for (let written = 0; written < bytes.length;) {
      written += writeSync(file, bytes, written, bytes.length - written, size + written);
    }
    size += bytes.length;
    waiting = [];
    waitingBytes = 0;
  };
  const readAt = (offset: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
  };
  return {
    /** Writes a row and returns its offset. */
    append(previous: number, text: string): number {
      const offset = size + waitingBytes;
      const bytes = Buffer.from(text);
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeDoubleLE(previous, 0);
      head.writeUInt32LE(bytes.length, 8);
      waiting.push(head, bytes);
      waitingBytes += HEAD_BYTES + bytes.length;
      if (waitingBytes >= FLUSH_BYTES) flush();
      return offset;
    },
    read(offset: number): { readonly previous: number; readonly text: string } {
      if (waitingBytes > 0) flush();
      const start = readAt(offset, FIRST_READ_BYTES);
      const length = start.readUInt32LE(8);
      const bytes =
        HEAD_BYTES + length <= start.length
          ? start.subarray(HEAD_BYTES, HEAD_BYTES + length)
          : readAt(offset + HEAD_BYTES, length);
      return { previous: start.readDoubleLE(0), text: bytes.toString('utf8') };
    },
    close(): void {
      closeSync(file);
    },
  };
}
