import { cigarRuns } from './cigar.js';
import { AMINO_ACIDS, BLOSUM62 } from './substitution.js';

/** The three lines of a text alignment, of equal length. */
export interface AlignmentLines {
  readonly query: string;
  /** The residue of a match, `+` for a positive BLOSUM62 score, else a space. */
  readonly middle: string;
  readonly target: string;
}

interface Aligned {
  /** Extended CIGAR seen from the query. */
  readonly cigar: string;
  /** Zero-based index of the first aligned residue. */
  readonly queryStart: number;
  readonly targetStart: number;
}

/** Returns the aligned residues as text, with `-` for gaps. */
export function alignmentLines(query: string, target: string, alignment: Aligned): AlignmentLines {
  const lines = { query: '', middle: '', target: '' };
  let queryAt = alignment.queryStart;
  let targetAt = alignment.targetStart;
  for (const { operation, length } of cigarRuns(alignment.cigar)) {
    const gap = '-'.repeat(length);
    const above = operation === 'D' ? gap : query.slice(queryAt, (queryAt += length));
    const below = operation === 'I' ? gap : target.slice(targetAt, (targetAt += length));
    lines.query += above;
    lines.target += below;
    for (let column = 0; column < length; column += 1) lines.middle += likeness(above[column], below[column]);
  }
  return lines;
}

function likeness(above: string, below: string): string {
  if (above === below && above !== 'X') return above;
  const score = BLOSUM62[AMINO_ACIDS.indexOf(above)]?.[AMINO_ACIDS.indexOf(below)] ?? 0;
  return score > 0 ? '+' : ' ';
}
