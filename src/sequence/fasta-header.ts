/** Attributes of a protein from its FASTA header. A member is absent if the header lacks it. */
export interface FastaHeader {
  readonly id: string;
  readonly description?: string;
  readonly name?: string;
  readonly entryName?: string;
  readonly organism?: string;
  /** NCBI taxonomy id. */
  readonly taxid?: number;
  readonly gene?: string;
  /** Whether a curator reviewed the entry: true for `sp|` (Swiss-Prot), false for `tr|` (TrEMBL). */
  readonly reviewed?: boolean;
  /** Number of members of a UniRef cluster, or of identical proteins in NCBI's nr. */
  readonly memberCount?: number;
  /** Entry name of the representative of a UniRef cluster. */
  readonly representative?: string;
  /** Accessions of identical proteins, the first included, and their organisms, up to LIST_MAX_CHARACTERS each. */
  readonly accessions?: readonly string[];
  readonly organisms?: readonly string[];
}

const UNIPROT = /^(sp|tr)\|([A-Z0-9]+(?:-\d+)?)\|(\S+)(?:\s+(.*))?$/;
const UNIPROT_ACCESSION =
  /^(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})(?:-\d+)?$/;
const UNIPROT_FIELD = /(?:^| )(OS|OX|GN|PE|SV)=(.*?)(?= (?:OS|OX|GN|PE|SV)=|$)/g;
const UNIREF = /^(UniRef\d+_\S+)(?:\s+(.*))?$/;
const UNIREF_FIELD = /(?:^| )(n|Tax|TaxID|RepID)=(.*?)(?= (?:n|Tax|TaxID|RepID)=|$)/g;
/** An accession with version, or a PDB chain. */
const NCBI_ACCESSION = /^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)?\.\d+|[0-9][A-Z0-9]{3}_\w+)$/;
const START_OF_HEADING = '\x01';
/** Separator that blastdbcmd writes instead of U+0001. */
const NEXT_RECORD = / >(?=[A-Z0-9]\S* )/;
/** Half the maximum length of one attribute; nr joins thousands of records. */
const LIST_MAX_CHARACTERS = 16_384;

/**
 * Parses headers of UniProt (the id is the accession), UniRef and NCBI. In any other header the first word is the id
 * and the rest the description.
 * Source  https://www.uniprot.org/help/fasta-headers, https://ftp.ncbi.nlm.nih.gov/blast/db/FASTA/
 */
export function parseFastaHeader(header: string): FastaHeader {
  const uniprot = UNIPROT.exec(header);
  if (uniprot !== null) return readUniprot(uniprot);
  const uniref = UNIREF.exec(header);
  if (uniref !== null) return readUniref(uniref);
  const [id = ''] = header.replaceAll(START_OF_HEADING, ' ').split(/\s/, 1);
  // Form of a UniProt header after makeblastdb -parse_seqids and blastdbcmd.
  if (UNIPROT_ACCESSION.test(id) && header.includes(' OS=') && header.includes(' OX=')) {
    return { id, ...uniprotFields(header.slice(id.length).trim()) };
  }
  const isNcbi = header.includes(START_OF_HEADING) || (NCBI_ACCESSION.test(id) && header.includes(']'));
  return isNcbi ? readNcbi(header) : { id, ...present('description', header.slice(id.length).trim()) };
}

function readUniprot([, review, accession = '', entryName = '', about = '']: RegExpExecArray): FastaHeader {
  return { id: accession, entryName, ...uniprotFields(about), reviewed: review === 'sp' };
}

function uniprotFields(about = ''): Pick<FastaHeader, 'name' | 'organism' | 'taxid' | 'gene'> {
  const fields = fieldsIn(about, UNIPROT_FIELD);
  return {
    ...present('name', about.replace(/(?:^| )(?:OS|OX|GN|PE|SV)=.*$/, '').trim()),
    ...present('organism', fields.get('OS')),
    ...taxidIn(fields.get('OX')),
    ...present('gene', fields.get('GN')),
  };
}

/** `UniRef50_Q8WZ42 Titin n=65 Tax=Homo sapiens TaxID=9606 RepID=TITIN_HUMAN` */
function readUniref([, id = '', about = '']: RegExpExecArray): FastaHeader {
  const fields = fieldsIn(about, UNIREF_FIELD);
  const members = fields.get('n') ?? '';
  return {
    id,
    ...present('name', about.replace(/(?:^| )(?:n|Tax|TaxID|RepID)=.*$/, '').trim()),
    ...present('organism', fields.get('Tax')),
    ...taxidIn(fields.get('TaxID')),
    ...(/^\d{1,9}$/.test(members) ? { memberCount: Number(members) } : {}),
    ...present('representative', fields.get('RepID')),
  };
}

/** `WP_003131952.1 MULTISPECIES: thioredoxin [Lactococcus]`; U+0001 separates the headers of identical proteins */
function readNcbi(header: string): FastaHeader {
  const records = header
    .split(START_OF_HEADING)
    .flatMap((record) => record.split(NEXT_RECORD))
    .map(readNcbiRecord);
  const [{ id, name, organism }] = records;
  const first = { id, ...present('name', name), ...present('organism', organism) };
  if (records.length === 1) return first;
  const organisms = bounded(records.map((record) => record.organism));
  return {
    ...first,
    memberCount: records.length,
    accessions: bounded(records.map((record) => record.id)),
    ...(organisms.length === 0 ? {} : { organisms }),
  };
}

function readNcbiRecord(record: string): { id: string; name: string; organism: string } {
  const [id = ''] = record.split(/\s/, 1);
  const title = record.slice(id.length).trim();
  const start = organismStart(title);
  return start === undefined
    ? { id, name: title, organism: '' }
    : { id, name: title.slice(0, start).trim(), organism: title.slice(start + 1, -1).trim() };
}

/** Index of the bracket that opens the organism at the end of a title. Both names may contain nested brackets. */
function organismStart(title: string): number | undefined {
  if (!title.endsWith(']')) return undefined;
  let depth = 0;
  for (let at = title.length - 1; at >= 0; at -= 1) {
    if (title[at] === ']') depth += 1;
    else if (title[at] === '[') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}

/** Returns distinct, non-empty texts up to LIST_MAX_CHARACTERS in sum. */
function bounded(texts: readonly string[]): readonly string[] {
  let characters = 0;
  return [...new Set(texts)].filter(
    (text) => text !== '' && (characters += text.length) <= LIST_MAX_CHARACTERS,
  );
}

function fieldsIn(about: string, pattern: RegExp): Map<string, string> {
  return new Map([...about.matchAll(pattern)].map(([, key, value]) => [key, (value ?? '').trim()]));
}

function taxidIn(text = ''): { readonly taxid?: number } {
  return /^\d{1,9}$/.test(text) ? { taxid: Number(text) } : {};
}

function present<Key extends string>(key: Key, value: string | undefined): Partial<Record<Key, string>> {
  return value === undefined || value === '' ? {} : ({ [key]: value } as Record<Key, string>);
}
