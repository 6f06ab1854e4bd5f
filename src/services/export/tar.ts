import { assert } from '../../errors.js';

const BLOCK_BYTES = 512;
const NAME_MAX_BYTES = 100;

/** Ends an archive. */
export const TAR_END: Uint8Array = Buffer.alloc(2 * BLOCK_BYTES);

/**
 * A file as an entry of a tar archive. Equal content gives equal bytes: owner and date are constant.
 * Range   a name of 1 to 100 bytes of ASCII; content under 8 GiB
 * Source  POSIX.1-1988, the ustar format
 */
export function tarEntry(name: string, content: Uint8Array): Uint8Array {
  assert(name.length > 0 && name.length <= NAME_MAX_BYTES, 'the caller passes a name that fits the header');
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 'ascii');
  header.write('0000644\0', 100, 'ascii');
  header.write('0000000\0', 108, 'ascii');
  header.write('0000000\0', 116, 'ascii');
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'ascii');
  header.write('00000000000\0', 136, 'ascii');
  // The checksum of the header is computed with blanks in its own field.
  header.write('        ', 148, 'ascii');
  header.write('0', 156, 'ascii');
  header.write('ustar\0' + '00', 257, 'ascii');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
  return Buffer.concat([header, content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1))]);
}
