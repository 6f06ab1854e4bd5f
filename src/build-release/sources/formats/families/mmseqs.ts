import { open } from 'node:fs/promises';
import { Refusal } from '../../../../errors.js';
import { requireRegularFile } from '../../../../sequence/input-file.js';
import type { ProteinFormat } from '../protein-format.js';
import { A3M } from './a3m.js';
import { databaseEntries } from './database-entries.js';
import { FAMILY_FIELDS } from './family-fields.js';

const TITLE = 'MMseqs2 database of alignments';
/** Type of the databases that `mmseqs result2msa` writes, in the low 16 bits of the file `.dbtype`. */
const ALIGNMENTS_TYPE = 11;
const TYPE_MASK = 0xff_ff;
const COMPRESSED_BIT = 31;

/**
 * Alignments of an MMseqs2 database: `<name>` with an A3M alignment or an aligned FASTA per entry, `<name>.index` with
 * key, offset and length of each, and `<name>.dbtype`. Families come in the order of the data. The key is a number, so
 * that the id of a family is the name of its first row, the representative.
 * Source  https://github.com/soedinglab/mmseqs2/wiki#mmseqs2-database-format
 */
export const MMSEQS: ProteinFormat = {
  name: 'mmseqs',
  title: TITLE,
  hasFamilies: true,
  // The data begin as FASTA does. Only the files beside tell them apart.
  isRecognised: () => false,
  beside: (path) => [`${path}.index`, `${path}.dbtype`],
  fields: FAMILY_FIELDS,
  async *read(input) {
    for await (const { name, bytes } of databaseEntries(input, `${input.file}.index`, TITLE)) {
      for await (const family of A3M.read({ file: `${input.file}/${name}`, bytes }))
        yield { ...family, id: String(family.attributes['name'] ?? family.id) };
    }
  },
};

/**
 * Checks that an MMseqs2 database has alignments that can be read.
 * Errors  Refusal `invalid_alignment` for one of another type, and for a compressed one; those of `requireRegularFile`
 */
export async function requireAlignments(path: string): Promise<void> {
  await requireRegularFile(`${path}.dbtype`);
  const file = await open(`${path}.dbtype`);
  const bytes = Buffer.alloc(4);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0).finally(() => file.close());
  const refuse = (problem: string): Refusal =>
    new Refusal('invalid_alignment', `${path} is a database of MMseqs2 ${problem}`, { file: path });
  const type = bytes.readUInt32LE();
  if (bytesRead < bytes.length || (type & TYPE_MASK) !== ALIGNMENTS_TYPE)
    throw refuse('without alignments. Make one of alignments with mmseqs result2msa --msa-format-mode 6.');
  if (type >>> COMPRESSED_BIT === 1)
    throw refuse('whose entries are compressed. Decompress it with mmseqs decompress.');
}
