import { Refusal } from '../../../errors.js';
import { ATTRIBUTE_MAX_CHARACTERS, FASTA_SEQUENCE_MAX_BYTES } from '../../../limits.js';
import type { AttributeValue } from '../../../release/release.js';
import { describePlace, type FastaPlace } from '../../../sequence/fasta.js';
import { optionalFields, type SourceProtein } from '../protein-source.js';

/** Fields of a UniProtKB entry, in the flat file and in XML. */
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

/** Databases whose cross references become attributes, by UniProt's names. */
export const CROSS_REFERENCES: ReadonlyMap<string, List> = new Map([
  ['EC', 'ec'],
  ['GO', 'go'],
  ['Pfam', 'pfam'],
  ['InterPro', 'interpro'],
  ['PDB', 'pdb'],
]);

/** A partly read entry. Its memory is bounded, whatever the length of the entry in the file. */
export interface UniprotEntry {
  /** Sets the id to the first accession and ignores later ones. */
  accession(text: string): void;
  /** Sets a value once; ignores empty and later values. */
  set(field: Scalar, value: AttributeValue): void;
  /** Adds distinct items in the order of the file. */
  add(list: List, item: string): void;
  /** Appends to the sequence and stores the line of the first piece. */
  sequence(text: string, line: number): void;
  /** Returns the protein, whose record began at the place. */
  protein(place: FastaPlace): SourceProtein;
}

export function createUniprotEntry(): UniprotEntry {
  const scalars = new Map<Scalar, AttributeValue>();
  const lists = new Map<List, Set<string>>();
  let [id, text, listCharacters] = ['', '', 0];
  let textLine: number | undefined;
  return {
    accession(accession) {
      if (id === '') id = accession;
    },
    set(field, value) {
      if (value !== '' && !scalars.has(field)) scalars.set(field, value);
    },
    add(list, item) {
      const items = lists.get(list) ?? new Set();
      // A value beyond the limit of one attribute makes the protein invalid, so the rest is not stored.
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
        throw new Refusal('sequence_too_long', `${describePlace(place)} (${id}): the sequence is too long.`, {
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
