import type { ProteinFormat } from '../protein-format.js';
import { A3M } from './a3m.js';
import { databaseEntries } from './database-entries.js';
import { FAMILY_FIELDS } from './family-fields.js';

const DATA_FILE = /\.ffdata$/;
const TITLE = 'HH-suite database';

/**
 * Alignments of an HH-suite database: `<name>_a3m.ffdata` with one A3M alignment per entry, and `<name>_a3m.ffindex`
 * with name, offset and length of each. Families come in the order of the data, and their ids are the entries' names.
 * Source  https://github.com/soedinglab/ffindex_soedinglab
 */
export const HH_SUITE: ProteinFormat = {
  name: 'hh-suite',
  title: TITLE,
  hasFamilies: true,
  // The data begin as A3M does. Only the name of the file tells them apart.
  isRecognised: () => false,
  beside: (path) => [indexOf(path)],
  fields: FAMILY_FIELDS,
  async *read(input) {
    for await (const { name, bytes } of databaseEntries(input, indexOf(input.file), TITLE))
      yield* A3M.read({ file: `${input.file}/${name}`, bytes });
  },
};

function indexOf(dataPath: string): string {
  return dataPath.replace(DATA_FILE, '.ffindex');
}
