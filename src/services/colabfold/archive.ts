import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of an archive. Its content is the concatenation of its pieces. */
export interface ArchivedFile {
  /** 1..99 ASCII characters. */
  readonly name: string;
  readonly pieces: readonly Buffer[];
}

const BLOCK_BYTES = 512;
const pack = promisify(gzip);

/**
 * Returns the files as a gzip-compressed tar archive. Equal files give equal bytes.
 * Errors  those of zlib
 * Source  POSIX.1-2001, pax interchange format: its ustar header block
 */
export async function tarGz(files: readonly ArchivedFile[]): Promise<Buffer> {
  const blocks = files.flatMap(({ name, pieces }) => {
    const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const padding = (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
    return [header(name, sizeBytes), ...pieces, Buffer.alloc(padding)];
  });
  // Two empty blocks end the archive.
  return pack(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 1 });
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
