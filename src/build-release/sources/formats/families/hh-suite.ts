import { Refusal } from '../../../../errors.js';
import { FAMILY_INDEX_MAX_ENTRIES } from '../../../../limits.js';
import { fastaFile } from '../../../../sequence/fasta.js';
import { linesOf, type LinePlace, type ProteinFormat } from '../protein-format.js';
import { A3M } from './a3m.js';
import { byteCursor } from './byte-cursor.js';
import { FAMILY_FIELDS } from './family-fields.js';

const DATA_FILE = /\.ffdata$/;

/**
 * Alignments of an HH-suite database: `<name>_a3m.ffdata` with one A3M alignment per entry, and `<name>_a3m.ffindex`
 * with name, offset and length of each. Families come in the order of the data, and their ids are the entries' names.
 * Source  https://github.com/soedinglab/ffindex_soedinglab
 */
export const HH_SUITE: ProteinFormat = {
  name: 'hh-suite',
  title: 'HH-suite database',
  hasFamilies: true,
  // The data begin as A3M does. Only the name of the file tells them apart.
  isRecognised: () => false,
  beside: (path) => [indexOf(path)],
  fields: FAMILY_FIELDS,
  async *read(input) {
    const entries = await readIndex(indexOf(input.file));
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
        const content = withoutEnd(cursor.take(length, short));
        yield* A3M.read({ file: `${input.file}/${name}`, bytes: content });
      }
    } finally {
      await cursor.close();
    }
  },
};

interface Entry {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

function indexOf(dataPath: string): string {
  return dataPath.replace(DATA_FILE, '.ffindex');
}

/** Reads the index and sorts it by offset, because the data are read once. */
async function readIndex(path: string): Promise<readonly Entry[]> {
  const place: LinePlace = { file: path, line: 0, record: 0 };
  const entries: Entry[] = [];
  for await (const line of linesOf(fastaFile(path), place)) {
    if (line === '') continue;
    const cells = /^([^\t]+)\t(\d{1,15})\t(\d{1,15})$/.exec(line);
    if (cells === null) throw refuse(path, `line ${place.line} is not a name, an offset and a length`);
    if (entries.length === FAMILY_INDEX_MAX_ENTRIES)
      throw refuse(path, `there are more than ${FAMILY_INDEX_MAX_ENTRIES} entries`);
    entries.push({ name: cells[1], offset: Number(cells[2]), length: Number(cells[3]) });
  }
  if (entries.length === 0) throw refuse(path, 'the index has no entry');
  return entries.sort((a, b) => a.offset - b.offset);
}

/** Drops the NUL that ends an entry. */
async function* withoutEnd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of bytes) yield piece.at(-1) === 0 ? piece.subarray(0, -1) : piece;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

function refuse(file: string, problem: string): Refusal {
  return new Refusal('invalid_alignment', `${file}: ${problem} (HH-suite database).`, { file });
}
