import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { Refusal } from '../../errors.js';
import { ATTRIBUTE_MAX_FIELDS } from '../../limits.js';
import type { AttributeValue, FilterField } from '../../release/release.js';
import { decompress, readInputFile, readLines } from '../../sequence/input-file.js';
import { createIdTable } from './id-table.js';
import { createTypeGuess, parseCell, parseColumn, type MetadataColumn } from './metadata-types.js';

/** A user's table of attributes by protein id. */
export interface MetadataTable {
  readonly fields: readonly FilterField[];
  readonly rowCount: number;
  /** Attributes of this protein; undefined where the table has no row for it. */
  find(id: string): Readonly<Record<string, AttributeValue>> | undefined;
  close(): void;
}

const FLUSH_BYTES = 1 << 20;
const FIELD_NAME_MAX_CHARACTERS = 128;

/**
 * Reads a tab-separated table, plain or gzip. The first column holds ids; every other column is an attribute.
 * The first row names the columns: `name:type` (string, integer, number, boolean, string_list), or `name`
 * alone for the narrowest type that fits all its cells. Items of a string_list are separated by ";". An
 * empty cell is missing. The rows are kept in the scratch file, so that memory stays at 16 to 32 bytes a
 * row.
 * Errors  Refusal `invalid_metadata` with file, line and column
 */
export async function readMetadataTable(path: string, scratchPath: string): Promise<MetadataTable> {
  const rows = createRowFile(scratchPath);
  let columns: readonly MetadataColumn[] | undefined;
  const index = createIdTable();
  // Ids that share a 64-bit hash with an earlier one: none, nearly always.
  const colliding = new Map<string, number>();
  let rowCount = 0;
  let line = 0;
  const refuse = (problem: string): Refusal =>
    new Refusal('invalid_metadata', `${basename(path)}, line ${line}: ${problem}`, { file: path, line });

  for await (const block of readLines(
    decompress(readInputFile(path), () => `${path}, line ${line}`),
    path,
  )) {
    for (const text of block) {
      line += 1;
      if (text.trim() === '') continue;
      if (text.includes('\0')) throw refuse('a cell holds the character U+0000, which no text has.');
      const cells = text.split('\t').map((cell) => cell.trim());
      if (columns === undefined) {
        columns = readHeader(cells, refuse);
        continue;
      }
      checkRow(cells, columns, refuse);
      const id = cells[0];
      const twin = index.get(id);
      if (twin !== undefined && (rows.read(twin)[0] === id || colliding.has(id))) {
        throw refuse(`the id ${id} has a row already.`);
      }
      const offset = rows.append(cells);
      if (twin === undefined) index.set(id, offset);
      else colliding.set(id, offset);
      rowCount += 1;
    }
  }
  if (columns === undefined) throw refuse('the table is empty; a header row is expected.');
  const known = columns.map(({ name, type, guess }) => ({ name, type: type ?? guess.type() }));
  return {
    fields: known,
    rowCount,
    find(id) {
      const offset = colliding.get(id) ?? index.get(id);
      const cells = offset === undefined ? undefined : rows.read(offset);
      if (cells === undefined || cells[0] !== id) return undefined;
      const present: Record<string, AttributeValue> = {};
      known.forEach(({ name, type }, column) => {
        const value = parseCell(type, cells[column + 1] ?? '');
        if (value !== undefined) present[name] = value;
      });
      return present;
    },
    close: () => rows.close(),
  };
}

function readHeader(
  cells: readonly string[],
  refuse: (problem: string) => Refusal,
): readonly MetadataColumn[] {
  const columns = cells.slice(1).map((cell) => ({ ...parseColumn(cell), guess: createTypeGuess() }));
  if (columns.length === 0) throw refuse('the header names no attribute; columns are separated by tabs.');
  if (columns.length > ATTRIBUTE_MAX_FIELDS) {
    throw refuse(
      `the header names ${columns.length} attributes; at most ${ATTRIBUTE_MAX_FIELDS} are supported.`,
    );
  }
  const names = columns.map(({ name }) => name);
  const twin = names.find((name, at) => names.indexOf(name) !== at);
  if (twin !== undefined) throw refuse(`the column ${JSON.stringify(twin)} is there twice.`);
  const bad = names.find((name) => !isFieldName(name));
  if (bad === undefined) return columns;
  throw refuse(
    `${JSON.stringify(bad)} cannot name an attribute: 1 to ${FIELD_NAME_MAX_CHARACTERS} characters.`,
  );
}

function isFieldName(name: string): boolean {
  const isShort = name.length >= 1 && name.length <= FIELD_NAME_MAX_CHARACTERS;
  // An object cannot hold a member of the last name.
  return isShort && !/\p{Cc}/u.test(name) && name !== '__proto__';
}

function checkRow(
  cells: readonly string[],
  columns: readonly MetadataColumn[],
  refuse: (problem: string) => Refusal,
): void {
  if (cells[0] === '') throw refuse('the first column, the id, is empty.');
  if (cells.length > columns.length + 1) {
    throw refuse(`the row has ${cells.length} cells; the header has ${columns.length + 1}.`);
  }
  columns.forEach(({ name, type, guess }, column) => {
    const cell = cells[column + 1] ?? '';
    if (cell === '') return;
    if (type === undefined) guess.see(cell);
    else if (parseCell(type, cell) === undefined) {
      throw refuse(`${JSON.stringify(cell.slice(0, 40))} in column ${name} is no ${type}.`);
    }
  });
}

/**
 * Rows of cells by the offset at which they were appended; written and read in place, without a copy in
 * memory.
 */
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
    append(cells: readonly string[]): number {
      const offset = size + waitingBytes;
      const text = Buffer.from(cells.join('\t'));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      waiting.push(length, text);
      waitingBytes += 4 + text.length;
      if (waitingBytes >= FLUSH_BYTES) flush();
      return offset;
    },
    read(offset: number): readonly string[] {
      if (waitingBytes > 0) flush();
      const start = readAt(offset, 1024);
      const length = start.readUInt32LE(0);
      const bytes = length + 4 <= start.length ? start.subarray(4, length + 4) : readAt(offset + 4, length);
      return bytes.toString('utf8').split('\t');
    },
    close(): void {
      closeSync(file);
    },
  };
}
