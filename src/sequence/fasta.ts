import { isUtf8 } from 'node:buffer';
import { Refusal } from '../errors.js';
import { FASTA_ID_MAX_CHARACTERS, FASTA_LINE_MAX_BYTES, FASTA_SEQUENCE_MAX_BYTES } from '../limits.js';
import { decompress } from './input-file.js';
import { normaliseProtein } from './protein.js';
import { readUnpackedFile } from './unpack.js';

/** One record as it stands in the file; `text` is not normalised and keeps its line ends. */
export interface FastaRecord {
  /** What follows `>` on its line. */
  readonly header: string;
  readonly text: string;
  readonly place: FastaPlace;
  /** One-based line on which `text` begins; absent for the one after the header. */
  readonly textLine?: number;
}

export interface FastaPlace {
  /** Path as given, or `standard input`. */
  readonly file: string;
  /** One-based line of the header. */
  readonly line: number;
  /** One-based number of the record in its file. */
  readonly record: number;
}

export interface FastaInput {
  readonly file: string;
  /** Plain or gzip; which of the two, its first bytes tell. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

const LINE_FEED = 10;
const GREATER_THAN = 62;

/** The operator's file at this path, which may be zstd or xz, too; nothing is opened before it is read. */
export function fastaFile(path: string, onBytesRead?: (bytes: number) => void): FastaInput {
  return { file: path, bytes: readUnpackedFile(path, onBytesRead) };
}

/**
 * Records of one FASTA input in order, held one at a time.
 * Errors  Refusal `file_not_found`, `invalid_fasta`, `truncated_gzip` with file, line and record;
 *         `sequence_…` where one record is beyond all bounds; Fault when the disk fails
 */
export async function* readFasta(input: FastaInput): AsyncGenerator<FastaRecord> {
  const place = { file: input.file, line: 1, record: 0 };
  for await (const bytes of splitRecords(
    decompress(input.bytes, () => describePlace(place)),
    place,
  )) {
    if (bytes[0] !== GREATER_THAN) {
      const text = bytes.toString('utf8');
      if (/\S/.test(text)) throw refuseStart(text, place);
      place.line += countLines(bytes);
      continue;
    }
    place.record += 1;
    yield { ...splitHeader(bytes, place), place: { ...place } };
    place.line += countLines(bytes);
  }
  if (place.record === 0) {
    throw new Refusal(
      'invalid_fasta',
      `${input.file} holds no FASTA record: a line that starts with ">" is expected.`,
    );
  }
}

/** "reads.fasta, line 12, record 3": what every refusal about a record starts with. */
export function describePlace(place: FastaPlace): string {
  return `${place.file}, line ${place.line}, record ${place.record}`;
}

/**
 * The same refusal, saying where the record stands; a position in the sequence is followed to its own line.
 */
export function refuseRecord(cause: Refusal, record: FastaRecord, id: string): Refusal {
  const position = cause.details.position;
  const line =
    typeof position === 'number'
      ? (record.textLine ?? record.place.line + 1) + linesBefore(record.text, position)
      : record.place.line;
  const place = { ...record.place, line };
  return new Refusal(cause.code, `${describePlace(place)} (${id}): ${cause.message}`, {
    ...cause.details,
    ...place,
    id,
  });
}

/**
 * Cuts before each `>` that starts a line; the first piece is what stands before the first record, if
 * anything.
 */
async function* splitRecords(chunks: AsyncIterable<Buffer>, place: FastaPlace): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let heldBytes = 0;
  /** Bytes up to the end of the header's line; undefined while that has not come. */
  let headerBytes: number | undefined;
  let endsLine = true;
  // What is beyond a bound is refused before it fills memory: a gzip of kilobytes may hold gigabytes.
  const hold = (piece: Buffer): void => {
    const lineEnd = headerBytes === undefined ? piece.indexOf(LINE_FEED) : -1;
    if (lineEnd >= 0) headerBytes = heldBytes + lineEnd + 1;
    parts.push(piece);
    heldBytes += piece.length;
    const sequenceBytes = heldBytes - (headerBytes ?? heldBytes);
    if (sequenceBytes > FASTA_SEQUENCE_MAX_BYTES || heldBytes > FASTA_LINE_MAX_BYTES)
      throw refuseEndless(Buffer.concat(parts), place);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = findStart(chunk, 0, endsLine); at >= 0; at = findStart(chunk, at + 1, false)) {
      if (at > start) hold(chunk.subarray(start, at));
      if (parts.length > 0) yield parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      heldBytes = 0;
      headerBytes = undefined;
      start = at;
    }
    if (start < chunk.length) hold(chunk.subarray(start));
    endsLine = chunk.length === 0 ? endsLine : chunk[chunk.length - 1] === LINE_FEED;
  }
  if (heldBytes > 0) yield Buffer.concat(parts);
}

function findStart(chunk: Buffer, from: number, isLineStart: boolean): number {
  if (isLineStart && chunk[from] === GREATER_THAN) return from;
  const at = chunk.indexOf('\n>', from === 0 ? 0 : from - 1, 'latin1');
  return at < 0 ? -1 : at + 1;
}

function splitHeader(bytes: Buffer, place: FastaPlace): { header: string; text: string } {
  const end = bytes.indexOf(LINE_FEED);
  const line = bytes.subarray(1, end < 0 ? bytes.length : end);
  if (!isUtf8(line)) {
    throw new Refusal(
      'invalid_fasta',
      `${describePlace(place)}: the header is not UTF-8. Convert it, for example by iconv -f latin1 -t utf-8.`,
      { ...place },
    );
  }
  const header = line.toString('utf8').replace(/\r$/, '').trim();
  if (header.includes('\r')) {
    throw new Refusal(
      'invalid_fasta',
      `${describePlace(place)}: lines end with a bare carriage return. Convert the file to line feeds.`,
      { ...place },
    );
  }
  // One byte a character: whatever is no ASCII letter is refused by the normalisation, at its right position.
  return { header, text: end < 0 ? '' : bytes.toString('latin1', end + 1) };
}

function refuseStart(text: string, place: FastaPlace): Refusal {
  const before = text.slice(0, text.search(/\S/));
  const line = place.line + before.split('\n').length - 1;
  return new Refusal(
    'invalid_fasta',
    `${place.file}, line ${line}: a FASTA record starts with ">", but this line starts with ` +
      `${JSON.stringify(text.trim().slice(0, 20))}.`,
    { file: place.file, line },
  );
}

/** A record beyond all bounds: what came of its sequence says best what is wrong (a chromosome, most likely). */
function refuseEndless(bytes: Buffer, before: FastaPlace): Refusal {
  const place = { ...before, record: before.record + 1 };
  if (bytes[0] !== GREATER_THAN && bytes.indexOf(LINE_FEED) >= 0) {
    const text = bytes.toString('latin1');
    if (/\S/.test(text)) return refuseStart(text, before);
    return new Refusal('invalid_fasta', `${describePlace(before)}: megabytes of white space.`, { ...before });
  }
  if (bytes[0] !== GREATER_THAN || bytes.indexOf(LINE_FEED) < 0) {
    const limit = FASTA_LINE_MAX_BYTES >> 20;
    return new Refusal('invalid_fasta', `${describePlace(place)}: a line is longer than ${limit} MiB.`, {
      ...place,
    });
  }
  const { header, text } = splitHeader(bytes, place);
  const record = { header, text: text.slice(0, FASTA_SEQUENCE_MAX_BYTES), place };
  try {
    normaliseProtein(record.text);
  } catch (cause) {
    if (cause instanceof Refusal)
      return refuseRecord(cause, record, record.header.slice(0, FASTA_ID_MAX_CHARACTERS));
    throw cause;
  }
  return new Refusal('invalid_fasta', `${describePlace(place)}: the record is mostly white space.`, {
    ...place,
  });
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

/** Line ends before the residue at this one-based position. */
function linesBefore(text: string, position: number): number {
  let lines = 0;
  let seen = 0;
  for (const character of text) {
    if (character === '\n') lines += 1;
    else if (!/\s/.test(character)) seen += 1;
    if (seen === position) break;
  }
  return lines;
}
