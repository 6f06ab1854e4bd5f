import { AMINO_ACIDS } from '../sequence/substitution.js';
import { columnsOf, type HomologSet } from './homolog-set.js';

/** What stands in a place of an alignment where no amino acid does: a gap, or a letter that is none. */
export const NOTHING = AMINO_ACIDS.length;

/** A family's letters over each other: the protein's own row first, then its relatives'. */
export interface HomologAlignment {
  readonly length: number;
  /** [rows × length]: place in AMINO_ACIDS, or NOTHING. */
  readonly rows: readonly Uint8Array[];
  /** For each relative and each of its residues the protein's residue, −1 for none. */
  readonly columns: readonly Int32Array[];
}

const CODES = new Uint8Array(128).fill(NOTHING);
for (const [index, letter] of [...AMINO_ACIDS].entries()) CODES[letter.charCodeAt(0)] = index;

/** Errors  Fault where an alignment leaves its sequences */
export function alignHomologSet({ sequence, homologs }: HomologSet): HomologAlignment {
  const { length } = sequence;
  const own = Uint8Array.from(sequence, (letter) => CODES[letter.charCodeAt(0)]);
  const columns = homologs.map((homolog) => columnsOf(homolog, length));
  const rows = homologs.map(({ residues }, index) => {
    const row = new Uint8Array(length).fill(NOTHING);
    columns[index].forEach((column, at) => {
      if (column >= 0) row[column] = CODES[residues.charCodeAt(at)];
    });
    return row;
  });
  return { length, rows: [own, ...rows], columns };
}

/**
 * How much each row counts, so that many near copies count like few: a letter shares its column's weight with the other
 * rows that have it there, and a row has the mean of its letters.
 * Unit    shares of 1, in the order of the rows
 * Source  position-based sequence weights (Henikoff & Henikoff 1994)
 */
export function rowWeights({ length, rows }: HomologAlignment): Float64Array {
  const counts = new Uint16Array(length * NOTHING);
  const kinds = new Uint8Array(length);
  for (const row of rows) {
    for (let column = 0; column < length; column += 1) {
      if (row[column] === NOTHING) continue;
      if (counts[column * NOTHING + row[column]]++ === 0) kinds[column] += 1;
    }
  }
  const weights = Float64Array.from(rows, (row) => {
    let [sum, letters] = [0, 0];
    for (let column = 0; column < length; column += 1) {
      if (row[column] === NOTHING) continue;
      sum += 1 / (counts[column * NOTHING + row[column]] * kinds[column]);
      letters += 1;
    }
    return sum / Math.max(1, letters);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // A protein of unknown letters only has no relatives that could outweigh it.
  return total > 0 ? weights.map((weight) => weight / total) : weights.fill(1 / rows.length);
}

/**
 * How many rows of equal weight an alignment is worth; near copies are not among selected relatives (select.ts).
 * Range   1..rows
 * Source  1 ÷ Σ weight² (Kish 1965), of the position-based weights
 */
export function effectiveSequences(alignment: HomologAlignment): number {
  return 1 / rowWeights(alignment).reduce((sum, weight) => sum + weight * weight, 0);
}
