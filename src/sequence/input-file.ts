import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { Fault, Refusal } from '../errors.js';
import { FASTA_LINE_MAX_BYTES } from '../limits.js';

const LINE_FEED = 10;
/** A name of at least so many capital letters may be a sequence in the place of a file. */
const SEQUENCE = /^[A-Z]{8,}\*?$/;
const SHOWN_LETTERS = 20;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Yields a user's file in chunks. The file is opened on the first read.
 * Errors  Refusal `file_not_found`; Fault when the disk fails
 */
export async function* readInputFile(
  path: string,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
      onBytes?.((chunk as Uint8Array).length);
      yield chunk as Uint8Array;
    }
  } catch (cause) {
    throw refuseFile(path, cause);
  }
}

/**
 * Requires a regular file, for a file that is read more than once. A device has no end, and a FIFO waits for a writer.
 * Errors  Refusal `file_not_found`; Fault when the disk fails
 */
export async function requireRegularFile(path: string): Promise<void> {
  const status = await stat(path).catch((cause: unknown) => {
    throw refuseFile(path, cause);
  });
  if (status.isFile()) return;
  const kind = status.isDirectory() ? 'a folder' : status.isFIFO() ? 'a pipe' : 'a device';
  const remedy = status.isDirectory()
    ? 'a file is expected'
    : 'write it to a file first, or use - for standard input';
  throw new Refusal('file_not_found', `${path} is ${kind}; ${remedy}.`, { file: path });
}

/** Returns the refusal of a file that cannot be opened; any other error becomes a Fault. */
export function refuseFile(path: string, cause: unknown): Refusal | Fault {
  const code = (cause as NodeJS.ErrnoException).code;
  if ((code === 'ENOENT' || code === 'ENAMETOOLONG') && SEQUENCE.test(path)) {
    const start = path.length > SHOWN_LETTERS ? `${path.slice(0, SHOWN_LETTERS)}…` : path;
    return new Refusal(
      'file_not_found',
      `The file ${start} does not exist, and its name looks like a protein sequence: write that to a FASTA file, or ` +
        'to standard input as FASTA and name - as the file.',
      { file: path },
    );
  }
  const problem =
    code === 'ENOENT'
      ? 'does not exist'
      : code === 'EISDIR'
        ? 'is a folder; a file is expected'
        : code === 'EACCES'
          ? 'may not be read by this user'
          : undefined;
  if (problem === undefined) return new Fault(`${path} could not be read.`, { cause });
  return new Refusal('file_not_found', `${path} ${problem}.`, { file: path });
}

/**
 * Yields the bytes without a byte order mark. Gzip, recognised by its first two bytes, is decompressed.
 * Errors  Refusal `truncated_gzip` or `invalid_gzip`, whose message starts with the result of `describe` at that moment
 */
export async function* decompress(
  bytes: AsyncIterable<Uint8Array>,
  describe: () => string,
): AsyncGenerator<Buffer> {
  const { head, all } = await peekBytes(bytes, 2);
  yield* skipByteOrderMark(head[0] === 0x1f && head[1] === 0x8b ? inflate(all, describe) : all);
}

/**
 * Returns the first `count` bytes, or fewer if the input is shorter, and an iterator over all bytes from the start.
 * Errors  those of `bytes`
 */
export async function peekBytes(
  bytes: AsyncIterable<Uint8Array>,
  count: number,
): Promise<{ readonly head: Buffer; readonly all: AsyncGenerator<Buffer> }> {
  const source = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < count) {
    const { done, value } = await source.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const all = (async function* () {
    try {
      if (head.length > 0) yield head;
      for (;;) {
        const { done, value } = await source.next();
        if (done === true) return;
        yield Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
    } finally {
      await source.return?.();
    }
  })();
  return { head, all };
}

/** Drops a leading U+FEFF, which some editors and spreadsheets write. */
async function* skipByteOrderMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < BYTE_ORDER_MARK.length) continue;
    yield head.indexOf(BYTE_ORDER_MARK) === 0 ? head.subarray(BYTE_ORDER_MARK.length) : head;
    head = undefined;
  }
  if (head !== undefined) yield head;
}

/**
 * Yields the lines of a UTF-8 text in blocks, without line ends (LF or CRLF).
 * Errors  Refusal `line_too_long`; `invalid_text` with the line that is not UTF-8
 * @param otherwise  `latin1` to read a block that is not UTF-8 as Latin-1. Default: refuse it
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  file: string,
  otherwise: 'refuse' | 'latin1' = 'refuse',
): AsyncGenerator<string[]> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let lineCount = 0;
  const linesOf = (bytes: Buffer): string[] => {
    const isText = isUtf8(bytes);
    if (!isText && otherwise === 'refuse') throw refuseText(bytes, file, lineCount);
    const lines = bytes.toString(isText ? 'utf8' : 'latin1').split('\n');
    lineCount += lines.length;
    return lines.map((line) => line.replace(/\r$/, ''));
  };
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      rest.push(chunk);
      restBytes += chunk.length;
    } else {
      yield linesOf(Buffer.concat([...rest, chunk.subarray(0, end)]));
      rest = [chunk.subarray(end + 1)];
      restBytes = chunk.length - end - 1;
    }
    if (restBytes > FASTA_LINE_MAX_BYTES) {
      const limit = FASTA_LINE_MAX_BYTES >> 20;
      throw new Refusal('line_too_long', `${file} has a line of more than ${limit} MiB.`, { file });
    }
  }
  if (restBytes > 0) yield linesOf(Buffer.concat(rest));
}

/** Returns the refusal of invalid UTF-8. A replacement character could make an id name another protein. */
function refuseText(bytes: Buffer, file: string, linesBefore: number): Refusal {
  let line = linesBefore + 1;
  for (let start = 0; start < bytes.length; line += 1) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (!isUtf8(bytes.subarray(start, end < 0 ? bytes.length : end))) break;
    start = end < 0 ? bytes.length : end + 1;
  }
  return new Refusal(
    'invalid_text',
    `${file}, line ${line}: the text is not UTF-8. Convert the file, for example by iconv -f latin1 -t utf-8.`,
    { file, line },
  );
}

async function* inflate(compressed: AsyncIterable<Buffer>, describe: () => string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  const feeding = feed(compressed, gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    if (!code.startsWith('Z_')) throw cause;
    const isShort = code === 'Z_BUF_ERROR';
    throw new Refusal(
      isShort ? 'truncated_gzip' : 'invalid_gzip',
      `${describe()}: the gzip data ${isShort ? 'ends too early' : 'is damaged'} here or soon after. ` +
        'Copy or download the file again.',
    );
  } finally {
    gunzip.destroy();
  }
  await feeding;
}

/** Writes with back-pressure. An error of the source destroys the reader with the same error. */
async function feed(compressed: AsyncIterable<Buffer>, gunzip: Gunzip): Promise<void> {
  try {
    for await (const chunk of compressed) {
      if (gunzip.destroyed) return;
      if (gunzip.write(chunk)) continue;
      await new Promise<void>((resolve) => {
        gunzip.once('drain', resolve);
        gunzip.once('close', resolve);
      });
    }
    gunzip.end();
  } catch (cause) {
    gunzip.destroy(cause as Error);
  }
}
