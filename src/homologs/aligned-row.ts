import { Refusal } from '../errors.js';
import { PROTEIN_MAX_RESIDUES } from '../limits.js';
import type { Homolog } from './homolog-set.js';

/** Row of an A3M alignment: upper-case letters and `-` are columns, lower-case letters and `.` are insertions. */
export interface AlignmentRow {
  readonly id: string;
  readonly text: string;
}

const NO_LETTER = /[-.]/g;

/**
 * Aligns a row to the protein by the columns of both rows. Residues of the protein in insertions (lower case) count
 * too. Returns undefined if no pair of residues shares a column.
 * Errors  Refusal `invalid_alignment` for a row with another number of columns, or with more letters than a protein
 */
export function overProtein(
  row: AlignmentRow,
  own: AlignmentRow,
  sequence: string,
  file: string,
): Homolog | undefined {
  if (row.text.replaceAll(NO_LETTER, '').length > PROTEIN_MAX_RESIDUES)
    throw refuseRow(file, row, `has more than ${PROTEIN_MAX_RESIDUES} letters`);
  const [protein, homolog] = [columnsOf(own.text), columnsOf(row.text)];
  const [expected, received] = [protein.columns.length, homolog.columns.length];
  if (received !== expected)
    throw refuseRow(file, row, `has ${received} columns, and the row of the protein has ${expected}`);
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
  const cigar = runLengths(steps.join(''));
  const identity = identical / pairs;
  return { id: row.id, eValue: 0, identity, coverage, round: 1, residues, start, residueStart: 0, cigar };
}

/** Returns the CIGAR of a text with a letter for each step: `MMMD` → `3M1D`. */
export function runLengths(operations: string): string {
  let text = '';
  for (let start = 0, at = 1; at <= operations.length; at += 1) {
    if (operations[at] === operations[start]) continue;
    text += `${at - start}${operations[start]}`;
    start = at;
  }
  return text;
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

function refuseRow(file: string, { id }: AlignmentRow, what: string): Refusal {
  return new Refusal('invalid_alignment', `${file}, row ${JSON.stringify(id.slice(0, 80))}, ${what}.`);
}
