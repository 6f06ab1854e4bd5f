import { Refusal } from '../../../errors.js';
import { ATTRIBUTE_MAX_CHARACTERS, FASTA_SEQUENCE_MAX_BYTES } from '../../../limits.js';
import type { AttributeValue } from '../../../release/release.js';
import { describePlace, type FastaPlace } from '../../../sequence/fasta.js';
import { optionalFields, type SourceProtein } from '../protein-source.js';

/** What an entry of UniProtKB tells, in its flat file and in its XML alike. */
export const UNIPROT_FIELDS = optionalFields([
  { name: 'name', type: 'string' },
  { name: 'entry_name', type: 'string' },
  { name: 'organism', type: 'string' },
  { name: 'taxid', type: 'integer' },
  { name: 'gene', type: 'string' },
  { name: 'reviewed', type: 'boolean' },
  // 1: evidence at protein level, 2: at transcript level, 3: by homology, 4: predicted, 5: uncertain.
  { name: 'protein_existence', type: 'integer' },
  { name: 'ec', type: 'string_list' },
  { name: 'go', type: 'string_list' },
  { name: 'pfam', type: 'string_list' },
  { name: 'interpro', type: 'string_list' },
  { name: 'pdb', type: 'string_list' },
  { name: 'keywords', type: 'string_list' },
]);

type Scalar = 'name' | 'entry_name' | 'organism' | 'taxid' | 'gene' | 'reviewed' | 'protein_existence';
type List = 'ec' | 'go' | 'pfam' | 'interpro' | 'pdb' | 'keywords';

/** Databases whose cross references become attributes, by the names that UniProt gives them. */
export const CROSS_REFERENCES: ReadonlyMap<string, List> = new Map([
  ['EC', 'ec'],
  ['GO', 'go'],
  ['Pfam', 'pfam'],
  ['InterPro', 'interpro'],
  ['PDB', 'pdb'],
]);

/** An entry while it is read: bounded, however long the file goes on about it. */
export interface UniprotEntry {
  /** The first accession counts. */
  accession(text: string): void;
  /** The first value counts; an empty one is none. */
  set(field: Scalar, value: AttributeValue): void;
  /** Once each, in the order of the file. */
  add(list: List, item: string): void;
  /** Appends to the sequence; the line is that of the first piece. */
  sequence(text: string, line: number): void;
  /** The protein, whose record began here. */
  protein(place: FastaPlace): SourceProtein;
}

export function createUniprotEntry(): UniprotEntry {
  const scalars = new Map<Scalar, AttributeValue>();
  const lists = new Map<List, Set<string>>();
  let [id, text, listCharacters] = ['', '', 0];
  let textLine: number | undefined;
  return {
    accession(given) {
      if (id === '') id = given;
    },
    set(field, value) {
      if (value !== '' && !scalars.has(field)) scalars.set(field, value);
    },
    add(list, item) {
      const items = lists.get(list) ?? new Set();
      // Beyond the bound of one attribute the protein is refused, whatever follows.
      if (item === '' || items.has(item) || listCharacters > 2 * ATTRIBUTE_MAX_CHARACTERS) return;
      lists.set(list, items.add(item));
      listCharacters += item.length;
    },
    sequence(piece, line) {
      textLine ??= line;
      if (text.length <= FASTA_SEQUENCE_MAX_BYTES) text += piece;
    },
    protein(place) {
      if (text.length > FASTA_SEQUENCE_MAX_BYTES) {
        throw new Refusal('sequence_too_long', `${describePlace(place)} (${id}): the sequence has no end.`, {
          ...place,
          id,
        });
      }
      const attributes = Object.fromEntries<AttributeValue>([
        ...scalars,
        ...[...lists].map(([name, items]) => [name, [...items]] as const),
      ]);
      return { id, text, attributes, record: { header: id, text, place, textLine } };
    },
  };
}
