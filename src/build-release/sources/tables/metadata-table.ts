import { basename } from 'node:path';
import { Refusal } from '../../../errors.js';
import { ATTRIBUTE_MAX_FIELDS } from '../../../limits.js';
import type { AttributeValue } from '../../../release/release.js';
import { decompress, readLines } from '../../../sequence/input-file.js';
import { readUnpackedFile } from '../../../sequence/unpack.js';
import type { AttributeTable } from './attribute-table.js';
import { createKeyedRows } from './keyed-rows.js';
import { createTypeGuess, parseCell, parseColumn, type MetadataColumn } from './metadata-types.js';

const FIELD_NAME_MAX_CHARACTERS = 128;

/**
 * Reads a tab-separated table, plain or compressed. The first column has ids; every other column is an attribute.
 * The first row names the columns: `name:type` (string, integer, number, boolean, string_list), or `name`
 * alone for the narrowest type that fits all its cells. Items of a string_list are separated by ";". An
 * empty cell is a missing value. Rows are stored in the scratch file; memory is 16 to 32 bytes per row.
 * Errors  Refusal `invalid_metadata` with file, line and column
 */
export async function readMetadataTable(path: string, scratchPath: string): Promise<AttributeTable> {
  const rows = createKeyedRows(scratchPath);
  let columns: readonly MetadataColumn[] | undefined;
  let line = 0;
  const refuse = (problem: string): Refusal =>
    new Refusal('invalid_metadata', `${basename(path)}, line ${line}: ${problem}`, { file: path, line });

  for await (const block of readLines(
    decompress(readUnpackedFile(path), () => `${path}, line ${line}`),
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
      const [id, ...values] = cells;
      if (rows.find(id).length > 0) throw refuse(`the id ${id} has more than one row.`);
      rows.add(id, values);
    }
  }
  if (columns === undefined) throw refuse('the table is empty; a header row is expected.');
  const fields = columns.map(({ name, type, guess }) => ({ name, type: type ?? guess.type() }));
  return {
    name: 'metadata',
    fields,
    rowCount: rows.count,
    find(id) {
      const [cells] = rows.find(id);
      if (cells === undefined) return undefined;
      const present: Record<string, AttributeValue> = {};
      fields.forEach(({ name, type }, column) => {
        const value = parseCell(type, cells[column] ?? '');
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
  if (twin !== undefined) throw refuse(`the column ${JSON.stringify(twin)} occurs twice.`);
  const bad = names.find((name) => !isFieldName(name));
  if (bad === undefined) return columns;
  throw refuse(
    `${JSON.stringify(bad)} cannot name an attribute; a name has 1 to ${FIELD_NAME_MAX_CHARACTERS} characters.`,
  );
}

function isFieldName(name: string): boolean {
  const isShort = name.length >= 1 && name.length <= FIELD_NAME_MAX_CHARACTERS;
  // `__proto__` cannot be a plain member of an object.
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
      throw refuse(`${JSON.stringify(cell.slice(0, 40))} in column ${name} is not of type ${type}.`);
    }
  });
}
