import { crc32, inflateRawSync, constants } from 'node:zlib';
import { EMBEDDINGS_MAX_DIRECTORY_BYTES } from '../../limits.js';
import { readBytes } from './npy.js';

/** Directory entry of a file in an archive. */
export interface ZipEntry {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly crc32: number;
  readonly storedBytes: number;
  readonly sizeBytes: number;
  /** Byte offset of the local header in the archive. */
  readonly offset: number;
}

/** Throws the refusal of an archive with this problem. */
export type RefuseZip = (problem: string) => never;

const END = 0x06054b50;
const END_BYTES = 22;
const COMMENT_MAX_BYTES = 65_535;
const END_64 = 0x06064b50;
const END_64_BYTES = 56;
const LOCATOR_64 = 0x07064b50;
const LOCATOR_64_BYTES = 20;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const EXTRA_64 = 1;
const FULL_16 = 0xffff;
const FULL_32 = 0xffffffff;
const [STORED, DEFLATED] = [0, 8];
/** Compressed bytes to inflate for a head. Deflate expands at most 1,032-fold, so the result has at most 4 MB. */
const HEAD_STORED_BYTES = 4_096;

/**
 * Reads the directory of a ZIP or ZIP64 archive. Entries may be stored or deflated; encrypted and split archives are
 * refused.
 * Errors  those of `refuse`, for damage, for a repeated name and for unsupported entries
 * Source  PKWARE APPNOTE.TXT 6.3, sections 4.3.12, 4.3.14 to 4.3.16 and 4.5.3
 * @param file  descriptor of the open archive
 * @param archiveBytes  size of the archive
 */
export function readZipDirectory(
  file: number,
  archiveBytes: number,
  refuse: RefuseZip,
): ReadonlyMap<string, ZipEntry> {
  const { count, start, length } = findDirectory(file, archiveBytes, refuse);
  if (start + length > archiveBytes) refuse('the directory is outside the archive');
  if (length > EMBEDDINGS_MAX_DIRECTORY_BYTES) refuse('the directory is too long');
  const bytes = readBytes(file, start, length);
  const entries = new Map<string, ZipEntry>();
  let at = 0;
  for (let left = count; left > 0; left -= 1) {
    if (at + ENTRY_BYTES > length || bytes.readUInt32LE(at) !== ENTRY) refuse('the directory is damaged');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place));
    const next = at + ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
    if (next > length) refuse('the directory is damaged');
    const entry = readEntry(bytes.subarray(at, next), nameBytes, extraBytes, refuse);
    if (entries.has(entry.name)) refuse(`the archive has ${entry.name} twice`);
    if (entry.offset + entry.storedBytes > archiveBytes) refuse(`${entry.name} is outside the archive`);
    entries.set(entry.name, entry);
    at = next;
  }
  return entries;
}

/**
 * Reads and inflates a file of the archive.
 * Errors  those of `refuse`, where length or checksum differ from the directory
 */
export function readZipEntry(file: number, entry: ZipEntry, refuse: RefuseZip): Buffer {
  const stored = readBytes(file, dataStart(file, entry, refuse), entry.storedBytes);
  const bytes = entry.isDeflated ? inflated(stored, entry, refuse) : stored;
  if (bytes.length !== entry.sizeBytes || crc32(bytes) !== entry.crc32) refuse(`${entry.name} is damaged`);
  return bytes;
}

/** Reads the first bytes of a file in the archive without verifying its checksum. Errors  those of `refuse` */
export function readZipHead(file: number, entry: ZipEntry, length: number, refuse: RefuseZip): Buffer {
  const start = dataStart(file, entry, refuse);
  if (!entry.isDeflated) return readBytes(file, start, Math.min(length, entry.storedBytes));
  const stored = readBytes(file, start, Math.min(HEAD_STORED_BYTES, entry.storedBytes));
  try {
    return inflateRawSync(stored, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, length);
  } catch {
    return refuse(`${entry.name} is damaged`);
  }
}

function inflated(stored: Buffer, { name, sizeBytes }: ZipEntry, refuse: RefuseZip): Buffer {
  try {
    return inflateRawSync(stored, { maxOutputLength: Math.max(1, sizeBytes) });
  } catch {
    return refuse(`${name} is damaged`);
  }
}

interface Directory {
  readonly count: number;
  readonly start: number;
  readonly length: number;
}

function findDirectory(file: number, archiveBytes: number, refuse: RefuseZip): Directory {
  const tailStart = Math.max(0, archiveBytes - END_BYTES - COMMENT_MAX_BYTES);
  const tail = readBytes(file, tailStart, archiveBytes - tailStart);
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    // The trailing comment may contain the same magic number. The true record's comment ends at the end of the file.
    if (tail.readUInt32LE(at) !== END || at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length)
      continue;
    const [count, length, start] = [
      tail.readUInt16LE(at + 10),
      tail.readUInt32LE(at + 12),
      tail.readUInt32LE(at + 16),
    ];
    if (count !== FULL_16 && length !== FULL_32 && start !== FULL_32) return { count, length, start };
    return findDirectory64(file, tailStart + at, refuse);
  }
  return refuse('the file is not a ZIP archive, or is truncated');
}

function findDirectory64(file: number, endStart: number, refuse: RefuseZip): Directory {
  const locator = readBytes(file, Math.max(0, endStart - LOCATOR_64_BYTES), LOCATOR_64_BYTES);
  if (locator.length < LOCATOR_64_BYTES || locator.readUInt32LE(0) !== LOCATOR_64)
    refuse('the end record is damaged');
  const end = readBytes(file, uint64(locator, 8, refuse), END_64_BYTES);
  if (end.length < END_64_BYTES || end.readUInt32LE(0) !== END_64) refuse('the end record is damaged');
  const [count, length, start] = [32, 40, 48].map((place) => uint64(end, place, refuse));
  return { count, length, start };
}

function readEntry(bytes: Buffer, nameBytes: number, extraBytes: number, refuse: RefuseZip): ZipEntry {
  const name = bytes.toString('utf8', ENTRY_BYTES, ENTRY_BYTES + nameBytes);
  const [flags, method] = [bytes.readUInt16LE(8), bytes.readUInt16LE(10)];
  if ((flags & 1) !== 0) refuse(`${name} is encrypted`);
  if (method !== STORED && method !== DEFLATED) refuse(`${name} has an unsupported compression method`);
  const extra = bytes.subarray(ENTRY_BYTES + nameBytes, ENTRY_BYTES + nameBytes + extraBytes);
  const long = longNumbers(extra, refuse);
  // The ZIP64 field has only the numbers that do not fit in 32 bits, in this order.
  const [sizeBytes, storedBytes, offset] = [24, 20, 42].map((place) => {
    const short = bytes.readUInt32LE(place);
    return short === FULL_32 ? (long.shift() ?? refuse(`${name} has no length`)) : short;
  });
  const isDeflated = method === DEFLATED;
  return { name, isDeflated, crc32: bytes.readUInt32LE(16), storedBytes, sizeBytes, offset };
}

function longNumbers(extra: Buffer, refuse: RefuseZip): number[] {
  for (let at = 0; at + 4 <= extra.length;) {
    const [id, length] = [extra.readUInt16LE(at), extra.readUInt16LE(at + 2)];
    const data = extra.subarray(at + 4, at + 4 + length);
    if (id === EXTRA_64) {
      return Array.from({ length: Math.min(3, data.length >> 3) }, (_, place) =>
        uint64(data, 8 * place, refuse),
      );
    }
    at += 4 + length;
  }
  return [];
}

function dataStart(file: number, { name, offset }: ZipEntry, refuse: RefuseZip): number {
  const local = readBytes(file, offset, LOCAL_BYTES);
  if (local.length < LOCAL_BYTES || local.readUInt32LE(0) !== LOCAL) refuse(`${name} is damaged`);
  return offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28);
}

function uint64(bytes: Buffer, at: number, refuse: RefuseZip): number {
  const value = Number(bytes.readBigUInt64LE(at));
  return Number.isSafeInteger(value) ? value : refuse('a number in the archive is damaged');
}
