import { Refusal } from '../errors.js';
import type { AlignmentRow } from '../homologs/aligned-row.js';

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

function checked(letters: string, file: string, index: number): string {
  if (/^[A-Za-z.\-*]*$/.test(letters)) return letters.replaceAll('*', 'X');
  throw refuse(file, index, 'has characters other than letters, "-", "." and "*"');
}

function refuse(file: string, index: number, what: string): Refusal {
  return new Refusal('invalid_alignment', `${file}, line ${index + 1}, ${what}.`);
}
