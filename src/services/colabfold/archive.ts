import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { MEBIBYTE_BYTES } from '../../limits.js';

/** A file of an archive. Its content is the concatenation of its pieces. */
export interface ArchivedFile {
  /** 1..99 ASCII characters. */
  readonly name: string;
  readonly pieces: readonly Buffer[];
}

const BLOCK_BYTES = 512;
/** Bytes that are compressed in one step, during which the work cannot be aborted. */
const STEP_BYTES = MEBIBYTE_BYTES;

/**
 * Returns the files as a gzip-compressed tar archive. Equal files give equal bytes. The text is compressed piece by
 * piece, so that no step blocks the event loop for a whole archive.
 * Errors  those of zlib; the signal's reason
 * Source  POSIX.1-2001, pax interchange format: its ustar header block
 */
export async function tarGz(files: readonly ArchivedFile[], signal: AbortSignal): Promise<Buffer> {
  const blocks = files.flatMap(({ name, pieces }) => {
    const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const padding = (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
    return [header(name, sizeBytes), ...pieces, Buffer.alloc(padding)];
  });
  // Two empty blocks end the archive.
  const source = Readable.from(steps([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { objectMode: false });
  const packed: Buffer[] = [];
  await pipeline(
    source,
    createGzip({ level: 1 }),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) packed.push(chunk);
    },
    { signal },
  ).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  return Buffer.concat(packed);
}

/** Returns the bytes in steps of at most STEP_BYTES. */
function* steps(pieces: readonly Buffer[]): Generator<Buffer> {
  let small: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP_BYTES) {
      const part = piece.subarray(at, at + STEP_BYTES);
      small.push(part);
      bytes += part.length;
      if (bytes < STEP_BYTES) continue;
      yield Buffer.concat(small);
      small = [];
      bytes = 0;
    }
  }
  yield Buffer.concat(small);
}

function header(name: string, sizeBytes: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 'ascii');
  block.write('0000644\0', 100, 'ascii');
  block.write('0000000\0', 108, 'ascii');
  block.write('0000000\0', 116, 'ascii');
  block.write(`${octal(sizeBytes, 11)}\0`, 124, 'ascii');
  block.write(`${octal(0, 11)}\0`, 136, 'ascii');
  // The checksum of the header is computed with blanks in its own field.
  block.write('        ', 148, 'ascii');
  block.write('0', 156, 'ascii');
  block.write('ustar\0' + '00', 257, 'ascii');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'ascii');
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
