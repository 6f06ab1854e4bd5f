import type { Refusal } from '../../../../errors.js';
import { familyOfRows } from '../../../../homologs/family.js';
import { createWrappedRows } from '../../../../homologs/family-rows.js';
import { HOMOLOG_RULES } from '../../../../homologs/rules.js';
import { ATTRIBUTE_MAX_CHARACTERS, FAMILY_MAX_CELLS } from '../../../../limits.js';
import type { FastaPlace } from '../../../../sequence/fasta.js';
import type { SourceProtein } from '../../protein-source.js';
import { linesOf, placeNow, refuseAt, type LinePlace, type ProteinFormat } from '../protein-format.js';
import {
  FAMILY_FIELDS,
  familyProtein,
  readThreshold,
  setText,
  stemOf,
  type FamilyAttributes,
} from './family-fields.js';

const HEAD = /^# STOCKHOLM 1\./;

/**
 * Stockholm with one or more families, as Pfam-A.seed and Pfam-A.full. `#=GC RF` marks the match columns. Without it
 * these are the columns in which at least half of the rows have a residue. The id is the accession, else the name.
 * Source  https://sonnhammer.sbc.su.se/Stockholm.html
 */
export const STOCKHOLM: ProteinFormat = {
  name: 'stockholm',
  title: 'Stockholm',
  hasFamilies: true,
  isRecognised: (head) => HEAD.test(head),
  fields: FAMILY_FIELDS,
  async *read(input) {
    const place: LinePlace = { file: input.file, line: 0, record: 0 };
    let open: OpenFamily | undefined;
    // Names of authors in Pfam's files are in Latin-1.
    for await (const line of linesOf(input, place, 'latin1')) {
      if (open === undefined) {
        if (line.trim() === '') continue;
        if (!HEAD.test(line))
          throw refuseLine(place, 'a family that begins with "# STOCKHOLM 1.0" is expected');
        place.record += 1;
        open = openFamily(placeNow(place));
      } else if (line.startsWith('//')) {
        yield finish(open, place);
        open = undefined;
      } else readLine(line, place, open);
    }
    if (open !== undefined) throw refuseLine(place, 'the file ends within a family, before its "//"');
    if (place.record === 0) throw refuseLine(place, 'there is no family in it');
  },
};

interface OpenFamily {
  readonly place: FastaPlace;
  readonly attributes: FamilyAttributes;
  readonly rows: ReturnType<typeof createWrappedRows>;
  /** `#=GC RF`, joined over the blocks. */
  reference: string;
}

function openFamily(place: FastaPlace): OpenFamily {
  return { place, attributes: {}, rows: createWrappedRows(), reference: '' };
}

function readLine(line: string, place: LinePlace, open: OpenFamily): void {
  if (line.startsWith('#=GF ')) return readFeature(line, open.attributes);
  const reference = /^#=GC RF +(\S+)\s*$/.exec(line);
  if (reference !== null) {
    open.reference += reference[1];
    if (open.reference.length > FAMILY_MAX_CELLS) throw refuseLine(place, 'the alignment is too wide');
  }
  // Blocks are separated by a blank line, or by the annotation of their columns alone.
  if (line.startsWith('#=GC ') || line.trim() === '') open.rows.endBlock();
  if (line.startsWith('#') || line.trim() === '') return;
  const cells = /^(\S+)\s+(\S+)\s*$/.exec(line);
  if (cells === null) throw refuseLine(place, 'a name followed by a row of letters is expected');
  const [, id, letters] = cells;
  if (/[^A-Za-z.\-_~*]/.test(letters))
    throw refuseLine(place, 'the row has characters other than letters, "-", ".", "_", "~" and "*"');
  const problem = open.rows.add(id, letters);
  if (problem !== undefined) throw refuseLine(place, `the row ${JSON.stringify(id.slice(0, 80))} ${problem}`);
}

function readFeature(line: string, attributes: FamilyAttributes): void {
  const [, tag = '', text = ''] = /^#=GF (\S+)\s*(.*?)\s*$/.exec(line) ?? [];
  const value = text.replace(/;$/, '');
  switch (tag) {
    case 'ID':
      return setText(attributes, 'name', value);
    case 'AC':
      return setText(attributes, 'accession', value);
    case 'CL':
      return setText(attributes, 'clan', value);
    case 'TP':
      return setText(attributes, 'type', value);
    case 'DE': {
      const before = typeof attributes.description === 'string' ? `${attributes.description} ` : '';
      if (before.length < ATTRIBUTE_MAX_CHARACTERS) setText(attributes, 'description', before + value);
      return;
    }
    default:
      return readThreshold(tag, value, attributes);
  }
}

function finish({ place, attributes, rows, reference }: OpenFamily, end: LinePlace): SourceProtein {
  const problem = rows.finish();
  if (problem !== undefined) throw refuseLine(end, `the end of the family ${problem}`);
  if (rows.count === 0) throw refuseLine(end, 'the family has no rows');
  const width = rows.rows[0].text.length;
  if (reference !== '' && reference.length !== width) {
    throw refuseLine(end, `"#=GC RF" has ${reference.length} columns, and the rows have ${width}`);
  }
  const matches = reference === '' ? undefined : Array.from(reference, (mark) => !/[-._~]/.test(mark));
  const id = String(attributes.accession ?? attributes.name ?? nameless(place));
  const where = `${place.file}, line ${place.line}, family ${id.slice(0, 80)}`;
  const { consensus, family } = familyOfRows(rows.rows, matches, HOMOLOG_RULES, where);
  return familyProtein({
    id,
    consensus,
    family,
    attributes: { ...attributes, member_count: rows.count },
    place,
  });
}

/** A file with one family without `#=GF ID` is named by its file. */
function nameless({ file, record }: FastaPlace): string {
  return record === 1 ? stemOf(file) : `${stemOf(file)}_${record}`;
}

function refuseLine(place: LinePlace, problem: string): Refusal {
  return refuseAt(place, problem, 'Stockholm');
}
