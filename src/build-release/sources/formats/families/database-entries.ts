import { Refusal } from '../../../../errors.js';
import { FAMILY_INDEX_MAX_ENTRIES } from '../../../../limits.js';
import { fastaFile, type FastaInput } from '../../../../sequence/fasta.js';
import { linesOf, type LinePlace } from '../protein-format.js';
import { byteCursor } from './byte-cursor.js';

/** One alignment of a database that has a data file and an index. */
export interface DatabaseEntry {
  readonly name: string;
  /** To be read before the next entry. */
  readonly bytes: AsyncIterable<Buffer>;
}

/**
 * Yields the entries of a database in the order of its data, which are read once. A line of the index is a name, an
 * offset and a length, with tabs between. An entry ends with NUL, which is left out.
 * Errors  Refusal `invalid_alignment` for an index that is malformed or does not fit the data
 * @param title  name of the format, for messages
 */
export async function* databaseEntries(
  input: FastaInput,
  indexPath: string,
  title: string,
): AsyncGenerator<DatabaseEntry> {
  const refuse = (file: string, problem: string): Refusal =>
    new Refusal('invalid_alignment', `${file}: ${problem} (${title}).`, { file });
  const entries = await readIndex(indexPath, (problem) => refuse(indexPath, problem));
  const cursor = byteCursor(input.bytes);
  try {
    for (const { name, offset, length } of entries) {
      if (offset < cursor.offset)
        throw refuse(input.file, `the entry ${shown(name)} begins within the entry before it`);
      const short = (): Refusal =>
        refuse(
          input.file,
          `the entry ${shown(name)} ends at byte ${offset + length}, and the data have ${cursor.offset} bytes`,
        );
      if (!(await cursor.skipTo(offset))) throw short();
      yield { name, bytes: withoutEnd(cursor.take(length, short)) };
    }
  } finally {
    await cursor.close();
  }
}

interface Entry {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

/** Reads the index and sorts it by offset. */
async function readIndex(path: string, refuse: (problem: string) => Refusal): Promise<readonly Entry[]> {
  const place: LinePlace = { file: path, line: 0, record: 0 };
  const entries: Entry[] = [];
  for await (const line of linesOf(fastaFile(path), place)) {
    if (line === '') continue;
    const cells = /^([^\t]+)\t(\d{1,15})\t(\d{1,15})$/.exec(line);
    if (cells === null) throw refuse(`line ${place.line} is not a name, an offset and a length`);
    if (entries.length === FAMILY_INDEX_MAX_ENTRIES)
      throw refuse(`there are more than ${FAMILY_INDEX_MAX_ENTRIES} entries`);
    entries.push({ name: cells[1], offset: Number(cells[2]), length: Number(cells[3]) });
  }
  if (entries.length === 0) throw refuse('the index has no entry');
  return entries.sort((a, b) => a.offset - b.offset);
}

async function* withoutEnd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of bytes) yield piece.at(-1) === 0 ? piece.subarray(0, -1) : piece;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
