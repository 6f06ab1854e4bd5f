import { Refusal } from '../../../errors.js';
import { ATTRIBUTE_MAX_CHARACTERS } from '../../../limits.js';
import { linesOf, placeNow, type LinePlace, type ProteinFormat } from './protein-format.js';
import { CROSS_REFERENCES, createUniprotEntry, UNIPROT_FIELDS, type UniprotEntry } from './uniprot-entry.js';

/** Lines have some hundred characters at most. */
const LINE_MAX_CHARACTERS = 65_536;
const STRAIN = /^(strain|isolate|serovar|serotype|biovar|pathovar|subtype)\b/;

/**
 * UniProtKB's flat file (`.dat`, `.txt`). A line has two letters, three blanks and a value; `//` ends an entry.
 * Source  https://web.expasy.org/docs/userman.html
 */
export const UNIPROT_FLAT: ProteinFormat = {
  name: 'uniprot-dat',
  title: 'UniProt flat file',
  isRecognised: (head) => /^ID {3}\S+ +(Reviewed|Unreviewed); +\d+ AA\./.test(head),
  fields: UNIPROT_FIELDS,
  async *read(input) {
    const place: LinePlace = { file: input.file, line: 0, record: 0 };
    let open: OpenEntry | undefined;
    for await (const line of linesOf(input, place)) {
      if (line.length > LINE_MAX_CHARACTERS) throw refuseLine(place, 'the line is too long');
      if (open === undefined) {
        if (line.trim() === '') continue;
        if (!line.startsWith('ID   ')) throw refuseLine(place, 'an entry that begins with "ID" is expected');
        place.record += 1;
        open = { entry: createUniprotEntry(), organism: '', place: placeNow(place) };
      }
      if (line.startsWith('//')) {
        open.entry.set('organism', organismOf(open.organism));
        yield open.entry.protein(open.place);
        open = undefined;
      } else readLine(line, place.line, open);
    }
    if (open !== undefined) throw refuseLine(place, 'the file ends within an entry, before its "//"');
    if (place.record === 0) throw refuseLine(place, 'there is no entry in it');
  },
};

interface OpenEntry {
  readonly entry: UniprotEntry;
  /** OS lines, joined. */
  organism: string;
  readonly place: ReturnType<typeof placeNow>;
}

function readLine(line: string, lineNumber: number, open: OpenEntry): void {
  const { entry } = open;
  const value = line.slice(5).trimEnd();
  switch (line.slice(0, 2)) {
    case 'ID':
      entry.set('entry_name', value.split(' ', 1)[0]);
      return entry.set('reviewed', / Reviewed;/.test(value));
    case 'AC':
      return entry.accession(value.split(';', 1)[0].trim());
    case 'DE':
      return readDescription(value, entry);
    case 'GN':
      return readGene(value, entry);
    case 'OS':
      if (open.organism.length <= ATTRIBUTE_MAX_CHARACTERS) open.organism += ` ${value.trim()}`;
      return;
    case 'OX':
      return readTaxid(value, entry);
    case 'DR':
      return readReference(value, entry);
    case 'PE':
      return entry.set('protein_existence', Number.parseInt(value, 10) || '');
    case 'KW':
      for (const word of value.replace(/\.$/, '').split(';')) {
        entry.add('keywords', withoutEvidence(word));
      }
      return;
    case '  ':
      return entry.sequence(`${value.replaceAll(' ', '')}\n`, lineNumber);
  }
}

/** Sets the recommended name or the first submitted name, and EC numbers of the protein and its components. */
function readDescription(value: string, entry: UniprotEntry): void {
  const name = /^(?:RecName|SubName): Full=(.*?);?$/.exec(value)?.[1];
  if (name !== undefined) entry.set('name', withoutEvidence(name));
  const number = /(?:^|\s)EC=([^;]*)/.exec(value)?.[1];
  if (number !== undefined) entry.add('ec', withoutEvidence(number));
}

/** Sets the gene as in UniProt's FASTA headers: its name, or else the name of its locus or reading frame. */
function readGene(value: string, entry: UniprotEntry): void {
  const name = /(?:^|\s)(?:Name|OrderedLocusNames|ORFNames)=(.*?)(?:;$|; |, )/.exec(value)?.[1];
  if (name !== undefined) entry.set('gene', withoutEvidence(name));
}

function readTaxid(value: string, entry: UniprotEntry): void {
  const taxid = /^NCBI_TaxID=(\d{1,9})\b/.exec(value)?.[1];
  if (taxid !== undefined) entry.set('taxid', Number(taxid));
}

function readReference(value: string, entry: UniprotEntry): void {
  const [database, id = ''] = value.split(';', 2);
  const list = CROSS_REFERENCES.get(database);
  if (list !== undefined) entry.add(list, id.trim());
}

/**
 * Returns the scientific name with strain or isolate, as in FASTA headers. Common names and synonyms, which follow in
 * parentheses, are removed.
 */
function organismOf(lines: string): string {
  const [name, ...groups] = lines.trim().replace(/\.$/, '').split(' (');
  let scientific = name;
  for (const group of groups) {
    const isWithin = scientific.split('(').length > scientific.split(')').length;
    if (!isWithin && !STRAIN.test(group)) break;
    scientific += ` (${group}`;
  }
  return scientific;
}

/** Removes evidence tags such as ` {ECO:0000269|PubMed:17034881}`. */
function withoutEvidence(text: string): string {
  const end = text.indexOf('{ECO:');
  return (end < 0 ? text : text.slice(0, end)).trim();
}

function refuseLine({ file, line }: LinePlace, problem: string): Refusal {
  return new Refusal('invalid_input', `${file}, line ${line}: ${problem} (UniProt flat file).`, {
    file,
    line,
  });
}
