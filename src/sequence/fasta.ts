import { isUtf8 } from 'node:buffer';
import { Refusal } from '../errors.js';
import { FASTA_ID_MAX_CHARACTERS, FASTA_LINE_MAX_BYTES, FASTA_SEQUENCE_MAX_BYTES } from '../limits.js';
import { decompress } from './input-file.js';
import { normaliseProtein } from './protein.js';
import { readUnpackedFile } from './unpack.js';

/** One raw record; `text` is not normalised and contains the line ends. */
export interface FastaRecord {
  /** Text behind `>` on its line. */
  readonly header: string;
  readonly text: string;
  readonly place: FastaPlace;
  /** One-based line on which `text` begins; by default the line after the header. */
  readonly textLine?: number;
}

export interface FastaPlace {
  /** Path of the argument, or `standard input`. */
  readonly file: string;
  /** One-based line of the header. */
  readonly line: number;
  /** One-based number of the record in its file. */
  readonly record: number;
}

export interface FastaInput {
  readonly file: string;
  /** Plain or gzip, recognised by the first bytes. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

const LINE_FEED = 10;
const GREATER_THAN = 62;

/** Returns an operator's file as input; it may be zstd or xz, too. The file is opened on the first read. */
export function fastaFile(path: string, onBytesRead?: (bytes: number) => void): FastaInput {
  return { file: path, bytes: readUnpackedFile(path, onBytesRead) };
}

/**
 * Yields the records of one FASTA input in order; memory holds one record at a time.
 * Errors  Refusal `file_not_found`, `invalid_fasta`, `truncated_gzip` with file, line and record;
 *         `sequence_…` for a record beyond the size limits; Fault when the disk fails
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

/** Returns the start of every refusal of a record, such as "reads.fasta, line 12, record 3". */
export function describePlace(place: FastaPlace): string {
  return `${place.file}, line ${place.line}, record ${place.record}`;
}

/**
 * Returns the refusal with file, line and record added. A `position` in the sequence selects the line of that residue.
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
 * Splits before each `>` at a line start. The first piece is the text before the first record, if there is any.
 */
async function* splitRecords(chunks: AsyncIterable<Buffer>, place: FastaPlace): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let heldBytes = 0;
  /** Length of the header line; undefined until its end was read. Unit: bytes. */
  let headerBytes: number | undefined;
  let endsLine = true;
  // An oversized record is refused before it fills memory: a gzip file of kilobytes may expand to gigabytes.
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
  // latin1 maps one byte to one character, so that the normalisation reports the right position of a non-ASCII byte.
  return { header, text: end < 0 ? '' : bytes.toString('latin1', end + 1) };
}

/** Letters by which text is taken for a sequence without a header. */
const TOLD_LETTERS = 30;

function refuseStart(text: string, place: FastaPlace): Refusal {
  const before = text.slice(0, text.search(/\S/));
  const line = place.line + before.split('\n').length - 1;
  const isSequence = /^\s*[A-Za-z]+\s*$/.test(text.slice(0, TOLD_LETTERS));
  return new Refusal(
    'invalid_fasta',
    `${place.file}, line ${line}: a FASTA record starts with ">", but this line starts with ` +
      `${JSON.stringify(text.trim().slice(0, 20))}.` +
      (isSequence ? ' Put a line with a name before the sequence, such as ">query".' : ''),
    { file: place.file, line },
  );
}

/** Returns the refusal of an oversized record. Its sequence often explains it: most likely it is a chromosome. */
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

/** Counts the line ends before the residue at this one-based position. */
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
