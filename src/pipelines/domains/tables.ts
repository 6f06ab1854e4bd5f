import type { TableColumn } from '../../services/export/parquet.js';
import type { AnnotatedProtein, Domain, FamilyName } from '../../domains/domain.js';

export type { AnnotatedProtein, Domain } from '../../domains/domain.js';

/** One line of a table. */
interface Row {
  readonly protein: AnnotatedProtein;
  readonly domain: Domain;
  /** Place of the domain among those of its family in the protein, from 1, and their number. */
  readonly copy: number;
  readonly copies: number;
}

/** Columns of the TSV and of the Parquet file. Coordinates are one-based and inclusive, as in HMMER and GFF3. */
const COLUMNS: readonly TableColumn<Row>[] = [
  { name: 'protein', type: 'string', value: ({ protein }) => protein.id },
  { name: 'protein_length', type: 'integer', value: ({ protein }) => protein.length },
  { name: 'start', type: 'integer', value: ({ domain }) => domain.start + 1 },
  { name: 'end', type: 'integer', value: ({ domain }) => domain.end },
  { name: 'family', type: 'string', value: ({ domain: { family } }) => family.id },
  { name: 'name', type: 'string', value: ({ domain: { family } }) => family.name },
  { name: 'accession', type: 'string', value: ({ domain: { family } }) => family.accession },
  { name: 'description', type: 'string', value: ({ domain: { family } }) => family.description },
  { name: 'clan', type: 'string', value: ({ domain: { family } }) => family.clan },
  { name: 'type', type: 'string', value: ({ domain: { family } }) => family.type },
  { name: 'family_length', type: 'integer', value: ({ domain: { family } }) => family.length },
  { name: 'family_start', type: 'integer', value: ({ domain }) => domain.familyStart + 1 },
  { name: 'family_end', type: 'integer', value: ({ domain }) => domain.familyEnd },
  { name: 'evalue', type: 'number', value: ({ domain }) => Math.exp(domain.logEValue) },
  { name: 'bit_score', type: 'number', value: ({ domain }) => domain.bitScore },
  { name: 'copy', type: 'integer', value: ({ copy }) => copy },
  { name: 'copies', type: 'integer', value: ({ copies }) => copies },
  { name: 'round', type: 'integer', value: ({ domain }) => domain.round },
];

/** Returns the lines of a table, one for each domain. */
function* rowsOf(proteins: Iterable<AnnotatedProtein>): Generator<Row> {
  for (const protein of proteins) {
    const seen = new Map<string, number>();
    for (const domain of protein.domains) {
      const { id } = domain.family;
      const copy = (seen.get(id) ?? 0) + 1;
      seen.set(id, copy);
      const copies = protein.domains.filter(({ family }) => family.id === id).length;
      yield { protein, domain, copy, copies };
    }
  }
}

/** 1 for a domain that the given annotation does not have, 0 for another one. */
const NEW_COLUMN: TableColumn<Row> = {
  name: 'new',
  type: 'integer',
  value: ({ domain }) => (domain.isNew === undefined ? undefined : Number(domain.isNew)),
};

/** Columns of the tables; with one more if the proteins were compared with another annotation. */
function columnsOf(proteins: readonly AnnotatedProtein[]): readonly TableColumn<Row>[] {
  return proteins.some(({ hasGiven }) => hasGiven !== undefined) ? [...COLUMNS, NEW_COLUMN] : COLUMNS;
}

/** Tab-separated values with a header. A missing value is an empty cell. */
export function* domainTsv(proteins: readonly AnnotatedProtein[]): Generator<string> {
  const columns = columnsOf(proteins);
  yield `${columns.map(({ name }) => name).join('\t')}\n`;
  for (const row of rowsOf(proteins)) {
    yield `${columns.map(({ name, value }) => inCell(name, value(row))).join('\t')}\n`;
  }
}

/** Returns columns and rows of the Parquet file. */
export function domainTable(proteins: readonly AnnotatedProtein[]) {
  return { columns: columnsOf(proteins), rows: rowsOf(proteins) };
}

const HMMER_HEAD =
  '#'.padEnd(77) +
  '--- full sequence --- -------------- this domain -------------   hmm coord   ali coord   env coord\n' +
  '# target name        accession   tlen query name           accession   qlen   E-value  score  bias   ' +
  '#  of  c-Evalue  i-Evalue  score  bias  from    to  from    to  from    to  acc description of target\n' +
  '#------------------- ---------- ----- -------------------- ---------- ----- --------- ------ ----- --- --- ' +
  '--------- --------- ------ ----- ----- ----- ----- ----- ----- ----- ---- ---------------------\n';

/**
 * The columns of `hmmscan --domtblout`. As there, the rows of a family in a protein are adjacent, which parsers demand;
 * families have the order of their first domains. E-values and scores of the sequence are those of the best domain of
 * its family. There is no correction for bias, and no mean posterior probability: both are 0. The envelope is the
 * alignment.
 * Source  HMMER User's Guide 3.3, "Tabular output formats"
 */
export function* domainTblout(proteins: Iterable<AnnotatedProtein>): Generator<string> {
  yield HMMER_HEAD;
  for (const { protein, domain, copy, copies } of rowsByFamily(proteins)) {
    const { family } = domain;
    const rivals = protein.domains.filter((other) => other.family.id === family.id);
    const best = rivals.reduce((a, b) => (b.logEValue < a.logEValue ? b : a));
    const query = [domain.start + 1, domain.end].map((place) => String(place).padStart(5));
    const words = [
      word(family.name).padEnd(20),
      word(family.accession ?? '-').padEnd(10),
      String(family.length).padStart(5),
      word(protein.id).padEnd(20),
      '-'.padEnd(10),
      String(protein.length).padStart(5),
      scientific(best.logEValue).padStart(9),
      best.bitScore.toFixed(1).padStart(6),
      '  0.0',
      String(copy).padStart(3),
      String(copies).padStart(3),
      scientific(domain.conditionalLogEValue).padStart(9),
      scientific(domain.logEValue).padStart(9),
      domain.bitScore.toFixed(1).padStart(6),
      '  0.0',
      String(domain.familyStart + 1).padStart(5),
      String(domain.familyEnd).padStart(5),
      ...query,
      ...query,
      '0.00',
      inCell('description', family.description ?? '-'),
    ];
    yield `${words.join(' ')}\n`;
  }
}

/** Rows of each protein by the name of the family, because parsers know families by name, and then by the family. */
function* rowsByFamily(proteins: Iterable<AnnotatedProtein>): Generator<Row> {
  for (const protein of proteins) {
    for (const named of groupsOf(rowsOf([protein]), ({ domain }) => word(domain.family.name))) {
      for (const rows of groupsOf(named, ({ domain }) => domain.family.id)) yield* rows;
    }
  }
}

/** Groups rows of equal key, in the order of the first row of each. */
function groupsOf(rows: Iterable<Row>, keyOf: (row: Row) => string): Iterable<readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups.values();
}

/**
 * GFF3 with one `protein_match` (SO:0000349) for each domain. The score is the E-value.
 * Source  https://github.com/The-Sequence-Ontology/Specifications/blob/master/gff3.md
 */
export function* domainGff(proteins: Iterable<AnnotatedProtein>): Generator<string> {
  yield '##gff-version 3\n';
  let number = 0;
  for (const protein of proteins) {
    if (protein.domains.length === 0) continue;
    const id = seqid(protein.id);
    yield `##sequence-region ${id} 1 ${protein.length}\n`;
    for (const domain of protein.domains) {
      number += 1;
      const { family } = domain;
      const target = `${escaped(family.id).replaceAll(' ', '%20')} ${domain.familyStart + 1} ${domain.familyEnd}`;
      const attributes = [
        `ID=domain${number}`,
        `Name=${escaped(family.name)}`,
        `Target=${target}`,
        ...noteOf(family),
        ...(domain.isNew === true ? ['new=1'] : []),
      ];
      const place = `${domain.start + 1}\t${domain.end}`;
      const columns = [id, 'gloaming', 'protein_match', place, scientific(domain.logEValue), '.', '.'];
      yield `${columns.join('\t')}\t${attributes.join(';')}\n`;
    }
  }
}

function noteOf({ accession, description, clan }: FamilyName): readonly string[] {
  return [
    ...(accession === undefined ? [] : [`accession=${escaped(accession)}`]),
    ...(description === undefined ? [] : [`signature_desc=${escaped(description)}`]),
    ...(clan === undefined ? [] : [`clan=${escaped(clan)}`]),
  ];
}

/** Writes an E-value with two digits from its logarithm, which does not underflow. */
export function scientific(logValue: number): string {
  if (logValue === Number.NEGATIVE_INFINITY) return '0';
  const log10 = logValue / Math.LN10;
  const exponent = Math.floor(log10);
  const mantissa = (10 ** (log10 - exponent)).toFixed(1);
  return mantissa === '10.0' ? `1.0e${exponent + 1}` : `${mantissa}e${exponent}`;
}

function inCell(name: string, value: string | number | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value.replace(/[\t\r\n]/g, ' ');
  return name === 'evalue' ? value.toExponential(2) : name === 'bit_score' ? value.toFixed(1) : String(value);
}

/** Columns of HMMER are separated by blanks. */
function word(text: string): string {
  return text.replace(/\s/g, '_') || '-';
}

function seqid(id: string): string {
  return id.replace(/[^A-Za-z0-9.:^*$@!+_?|-]/g, percent);
}

function escaped(text: string): string {
  return text.replace(/[\p{Cc}%;=&,]/gu, percent);
}

function percent(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
