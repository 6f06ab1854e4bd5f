import { Refusal } from '../errors.js';
import type { Homolog } from '../homologs/homolog-set.js';

/** Row of an A3M alignment: upper-case letters and `-` are columns, lower-case letters and `.` are insertions. */
export interface AlignmentRow {
  readonly id: string;
  readonly text: string;
}

/** Parses an A3M or FASTA alignment. Errors  Refusal `invalid_alignment` */
export function a3mRows(text: string, file: string): readonly AlignmentRow[] {
  const rows: { id: string; text: string }[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('>')) rows.push({ id: line.slice(1).split(/\s/)[0], text: '' });
    else if (line.startsWith('#') || line.trim() === '') continue;
    else if (rows.length === 0) throw refuse(file, index, 'comes before the first header');
    else rows[rows.length - 1].text += checked(line.trim(), file, index);
  }
  return rows;
}

/** Parses a Stockholm alignment and joins its blocks. Errors  Refusal `invalid_alignment` */
export function stockholmRows(text: string, file: string): readonly AlignmentRow[] {
  const rows = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('//')) break;
    if (line.startsWith('#') || line.trim() === '') continue;
    const [id, letters, ...rest] = line.trim().split(/\s+/);
    if (letters === undefined || rest.length > 0)
      throw refuse(file, index, 'is not a name followed by letters');
    rows.set(id, (rows.get(id) ?? '') + checked(letters, file, index));
  }
  // In Stockholm every character is a column, in either case, and a dot is a gap.
  return [...rows].map(([id, letters]) => ({ id, text: letters.replaceAll('.', '-').toUpperCase() }));
}

/**
 * Aligns a row to the protein by the columns of both rows. Residues of the protein in insertions (lower case) count
 * too. Returns undefined if no pair of residues shares a column, or if the rows differ in their number of columns.
 */
export function overProtein(row: AlignmentRow, own: AlignmentRow, sequence: string): Homolog | undefined {
  const [protein, homolog] = [columnsOf(own.text), columnsOf(row.text)];
  if (protein.columns.length !== homolog.columns.length) return undefined;
  const steps: string[] = [];
  let residues = '';
  let [at, pairs, identical, start, end] = [0, 0, 0, -1, -1];
  /** `I` for each unpaired residue of the protein, and letters of the homolog, since the last pair. */
  let [missing, extra] = ['', ''];
  for (let column = 0; column <= protein.columns.length; column += 1) {
    // Insertions come before the column that follows them.
    if (start >= 0) extra += homolog.between[column];
    for (const _ of protein.between[column]) [at, missing] = [at + 1, start >= 0 ? `${missing}I` : ''];
    if (column === protein.columns.length) break;
    const [mine, other] = [protein.columns[column], homolog.columns[column]];
    if (mine === '-' && other === '-') continue;
    if (mine === '-') extra += start >= 0 ? other : '';
    else if (other === '-') missing += start >= 0 ? 'I' : '';
    else {
      steps.push(missing, 'D'.repeat(extra.length), 'M');
      residues += extra + other;
      [missing, extra] = ['', ''];
      if (start < 0) start = at;
      end = at + 1;
      pairs += 1;
      if (mine === other) identical += 1;
    }
    if (mine !== '-') at += 1;
  }
  if (start < 0) return undefined;
  const coverage = (end - start) / sequence.length;
  const cigar = steps.join('').replaceAll(/([MID])\1*/g, (run) => `${run.length}${run[0]}`);
  const identity = identical / pairs;
  return { id: row.id, eValue: 0, identity, coverage, round: 1, residues, start, residueStart: 0, cigar };
}

/** Returns the letters of the columns, and the upper-case insertions before each column and after the last. */
function columnsOf(text: string): { readonly columns: string; readonly between: readonly string[] } {
  let columns = '';
  const between = [''];
  for (const letter of text) {
    if (letter === '.') continue;
    if (letter >= 'a' && letter <= 'z') between[between.length - 1] += letter.toUpperCase();
    else {
      columns += letter;
      between.push('');
    }
  }
  return { columns, between };
}

function checked(letters: string, file: string, index: number): string {
  if (/^[A-Za-z.\-*]*$/.test(letters)) return letters.replaceAll('*', 'X');
  throw refuse(file, index, 'has characters other than letters, "-", "." and "*"');
}

function refuse(file: string, index: number, what: string): Refusal {
  return new Refusal('invalid_alignment', `${file}, line ${index + 1}, ${what}.`);
}
