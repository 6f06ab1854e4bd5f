import type { Refusal } from '../../../../errors.js';
import { familyOfColumns } from '../../../../homologs/family.js';
import { createFamilyRows, type FamilyRows } from '../../../../homologs/family-rows.js';
import { HOMOLOG_RULES } from '../../../../homologs/rules.js';
import { FASTA_SEQUENCE_MAX_BYTES } from '../../../../limits.js';
import type { SourceProtein } from '../../protein-source.js';
import { linesOf, refuseAt, type LinePlace, type ProteinFormat } from '../protein-format.js';
import { FAMILY_FIELDS, familyProtein, setText, stemOf, type FamilyAttributes } from './family-fields.js';

/** Rows of HH-suite with structure or confidence instead of residues. */
const ANNOTATION_ROW = /^(ss_dssp|sa_dssp|aa_dssp|aa_pred|ss_pred|ss_conf)\b/;
const CONSENSUS_ROW = /_consensus$/;

/**
 * A3M with one family, whose id is the name of the file. Upper-case letters and `-` are match columns. A first line
 * `#accession ; name ; description`, as HH-suite's databases have it, gives attributes, else the header of the first
 * row.
 * Source  https://github.com/soedinglab/hh-suite/wiki#multiple-sequence-alignment-formats
 */
export const A3M: ProteinFormat = {
  name: 'a3m',
  title: 'A3M',
  hasFamilies: true,
  isRecognised: (head) => /^#(?! STOCKHOLM)[^\n]*\n>/.test(head),
  fields: FAMILY_FIELDS,
  async *read(input) {
    const place: LinePlace = { file: input.file, line: 0, record: 1 };
    const family = createA3mReader(stemOf(input.file), place);
    for await (const line of linesOf(input, place, 'latin1')) family.line(line);
    yield family.finish();
  },
};

/** Reads the lines of one A3M alignment. */
interface A3mReader {
  /** Errors  Refusal `invalid_alignment` */
  line(line: string): void;
  /** Errors  Refusal `invalid_alignment` */
  finish(): SourceProtein;
}

/** Creates a reader. @param place  current place of the caller's lines */
function createA3mReader(id: string, place: LinePlace): A3mReader {
  const { file, record } = place;
  const first = place.line + 1;
  const rows = createFamilyRows();
  let title: string | undefined;
  let header: string | undefined;
  let pieces: string[] = [];
  let letters = 0;
  let columns: number | undefined;
  const refuse = (problem: string): Refusal => refuseAt(place, problem, 'A3M');
  const endRow = (): void => {
    if (header === undefined) return;
    const name = header.split(/\s/, 1)[0];
    const received = addRow(rows, name, pieces);
    [pieces, letters] = [[], 0];
    if (received === undefined) return;
    columns ??= received;
    if (received === columns) return;
    throw refuse(
      `the row ${JSON.stringify(name.slice(0, 80))} before has ${received} columns, and the first row has ${columns}`,
    );
  };
  return {
    line(line) {
      if (line.startsWith('>')) {
        endRow();
        header = line.slice(1).trim();
        if (title === undefined && !ANNOTATION_ROW.test(header)) title = header;
      } else if (header === undefined) {
        if (line.startsWith('#')) title ??= line.slice(1).trim();
        else if (line.trim() !== '') throw refuse('a row that begins with ">" is expected');
      } else if (!line.startsWith('#')) {
        const piece = line.trim();
        letters += piece.length;
        if (letters > FASTA_SEQUENCE_MAX_BYTES) throw refuse('the row is too long');
        if (!ANNOTATION_ROW.test(header) && /[^A-Za-z.\-*]/.test(piece))
          throw refuse('the row has characters other than letters, "-", "." and "*"');
        pieces.push(piece);
      }
    },
    finish() {
      endRow();
      if (rows.count === 0) throw refuse('the alignment has no row');
      const where = `${file}, line ${first}, family ${id.slice(0, 80)}`;
      const { consensus, family } = familyOfColumns(rows.rows, HOMOLOG_RULES, where);
      const attributes: FamilyAttributes = { ...titleAttributes(title ?? ''), member_count: rows.count };
      return familyProtein({ id, consensus, family, attributes, place: { file, line: first, record } });
    },
  };
}

/** Adds a row unless it is an annotation or a consensus. Returns its number of columns. */
function addRow(rows: FamilyRows, name: string, pieces: readonly string[]): number | undefined {
  if (ANNOTATION_ROW.test(name)) return undefined;
  const text = pieces.join('');
  const isConsensus = CONSENSUS_ROW.test(name);
  if (!isConsensus) rows.add(name, () => text);
  return text.replace(/[a-z.]/g, '').length;
}

/** Reads `accession ; name ; description`, or a name followed by a description. */
function titleAttributes(title: string): FamilyAttributes {
  const attributes: FamilyAttributes = {};
  const parts = title.split(' ; ').map((part) => part.trim());
  if (parts.length >= 3) {
    setText(attributes, 'accession', parts[0]);
    setText(attributes, 'name', parts[1]);
    setText(attributes, 'description', parts.slice(2).join(' ; '));
    return attributes;
  }
  const [, name = '', description = ''] = /^(\S+)\s*(.*)$/.exec(title) ?? [];
  setText(attributes, 'name', name);
  setText(attributes, 'description', description);
  return attributes;
}
