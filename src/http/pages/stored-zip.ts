import { crc32 } from 'node:zlib';

export interface ZippedFile {
  /** Path in ASCII, with "/" between folders. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Version 2.0 of the format. */
const VERSION = 20;
const MADE_BY_UNIX = (3 << 8) | VERSION;
const REGULAR_FILE = 0o100644 * 2 ** 16;
/** The first date of the format: 1980-01-01. */
const FIRST_DATE = (1 << 5) | 1;

/**
 * Stores the files without compression in a ZIP archive, so that equal files give equal bytes.
 * Range   below 4 GiB and 65,535 files
 * Source  PKWARE APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16
 */
export function storedZip(files: readonly ZippedFile[]): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of files) {
    const shared = sharedFields(name, bytes);
    const local = Buffer.concat([uint32(0x04034b50), shared, Buffer.from(name), bytes]);
    const about = Buffer.concat([uint16(0), uint16(0), uint16(0), uint32(REGULAR_FILE), uint32(offset)]);
    entries.push(Buffer.concat([uint32(0x02014b50), uint16(MADE_BY_UNIX), shared, about, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const count = uint16(files.length);
  const end = [uint32(0x06054b50), uint32(0), count, count, uint32(directory.length), uint32(offset)];
  return Buffer.concat([...locals, directory, ...end, uint16(0)]);
}

/** Fields that the local header and the directory entry share. */
function sharedFields(name: string, bytes: Buffer): Buffer {
  const size = uint32(bytes.length);
  const noFlags = uint16(0);
  const stored = uint16(0);
  const noExtra = uint16(0);
  return Buffer.concat([
    uint16(VERSION),
    noFlags,
    stored,
    uint16(0),
    uint16(FIRST_DATE),
    uint32(crc32(bytes)),
    size,
    size,
    uint16(Buffer.byteLength(name)),
    noExtra,
  ]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
