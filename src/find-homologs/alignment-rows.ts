import { Refusal } from '../errors.js';
import type { Homolog } from '../homologs/homolog-set.js';

/** One row of an alignment: upper-case letters and `-` in columns, lower-case letters and `.` between them. */
export interface AlignmentRow {
  readonly id: string;
  readonly text: string;
}

/** Rows of an A3M (or FASTA) alignment. Errors  Refusal `invalid_alignment` */
export function a3mRows(text: string, file: string): readonly AlignmentRow[] {
  const rows: { id: string; text: string }[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('>')) rows.push({ id: line.slice(1).split(/\s/)[0], text: '' });
    else if (line.startsWith('#') || line.trim() === '') continue;
    else if (rows.length === 0) throw refuse(file, index, 'stands before the first header');
    else rows[rows.length - 1].text += checked(line.trim(), file, index);
  }
  return rows;
}

/** Rows of a Stockholm alignment, whose blocks are put together. Errors  Refusal `invalid_alignment` */
export function stockholmRows(text: string, file: string): readonly AlignmentRow[] {
  const rows = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('//')) break;
    if (line.startsWith('#') || line.trim() === '') continue;
    const [id, letters, ...rest] = line.trim().split(/\s+/);
    if (letters === undefined || rest.length > 0) throw refuse(file, index, 'is no name with its letters');
    rows.set(id, (rows.get(id) ?? '') + checked(letters, file, index));
  }
  // Every character is a column here, whatever its case, and a dot is a gap like any other.
  return [...rows].map(([id, letters]) => ({ id, text: letters.replaceAll('.', '-').toUpperCase() }));
}

/**
 * A row as it stands over the protein; undefined where it has no letter over any of its residues.
 * A column of the alignment is one of the protein where the protein has a letter there, whatever its case; in A3M only
 * upper-case letters and `-` have columns, and both rows count theirs alike.
 */
export function overProtein(row: AlignmentRow, own: AlignmentRow, sequence: string): Homolog | undefined {
  const [protein, homolog] = [columnsOf(own.text), columnsOf(row.text)];
  if (protein.columns.length !== homolog.columns.length) return undefined;
  const steps: string[] = [];
  let residues = '';
  let [at, pairs, identical, start, end] = [0, 0, 0, -1, -1];
  /** Residues of the protein, and of the relative, that face a gap since the last pair. */
  let [missing, extra] = ['', ''];
  for (let column = 0; column <= protein.columns.length; column += 1) {
    // Letters between columns stand before the column that follows them.
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

/** What stands in columns, upper-case, and between them, one more than there are columns. */
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
  throw refuse(file, index, 'has characters that no alignment has');
}

function refuse(file: string, index: number, what: string): Refusal {
  return new Refusal('invalid_alignment', `${file}, line ${index + 1}, ${what}.`);
}
