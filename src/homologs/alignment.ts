import { AMINO_ACIDS } from '../sequence/substitution.js';
import { columnsOf, type HomologSet } from './homolog-set.js';

/** Code of an alignment cell without one of the 20 amino acids: a gap, or a letter such as X. */
export const NO_AMINO_ACID = AMINO_ACIDS.length;

/** Alignment of a protein with its homologs; the protein has the first row. */
export interface HomologAlignment {
  /** Columns, which are the protein's residues. */
  readonly length: number;
  /** [rows × length]: index into AMINO_ACIDS, or NO_AMINO_ACID. */
  readonly rows: readonly Uint8Array[];
  /** [homologs × residues of the homolog]: zero-based column of each residue, −1 for an insertion. */
  readonly columns: readonly Int32Array[];
}

/** Index into AMINO_ACIDS by character code below 128; NO_AMINO_ACID for all other characters. */
export const CODES = new Uint8Array(128).fill(NO_AMINO_ACID);
for (const [index, letter] of [...AMINO_ACIDS].entries()) CODES[letter.charCodeAt(0)] = index;

/**
 * Places each homolog's residues in the columns of its protein.
 * Shape   rows: uint8 [1 + homologs] × [length]; columns: int32 [homologs] × [residues of the homolog]
 * Unit    rows: indices into AMINO_ACIDS or NO_AMINO_ACID, 0..20; columns: zero-based residues of the protein, or −1
 * Errors  Fault where a CIGAR is malformed or runs past the end of a sequence
 */
export function alignHomologSet({ sequence, homologs }: HomologSet): HomologAlignment {
  const { length } = sequence;
  const own = Uint8Array.from(sequence, (letter) => CODES[letter.charCodeAt(0)]);
  const columns = homologs.map((homolog) => columnsOf(homolog, length));
  const rows = homologs.map(({ residues }, index) => {
    const row = new Uint8Array(length).fill(NO_AMINO_ACID);
    columns[index].forEach((column, at) => {
      if (column >= 0) row[column] = CODES[residues.charCodeAt(at)];
    });
    return row;
  });
  return { length, rows: [own, ...rows], columns };
}

/**
 * Returns the weight of each row. Near copies share a weight: each letter of a column divides the column's weight among
 * the rows that have this letter. A row's weight is the mean over its letters.
 * Shape   float64 [rows]
 * Unit    shares; their sum is 1
 * Range   0..1
 * Source  position-based sequence weights (Henikoff & Henikoff 1994)
 */
export function rowWeights({ length, rows }: HomologAlignment): Float64Array {
  const counts = new Uint16Array(length * NO_AMINO_ACID);
  const kinds = new Uint8Array(length);
  for (const row of rows) {
    for (let column = 0; column < length; column += 1) {
      if (row[column] === NO_AMINO_ACID) continue;
      if (counts[column * NO_AMINO_ACID + row[column]]++ === 0) kinds[column] += 1;
    }
  }
  const weights = Float64Array.from(rows, (row) => {
    let [sum, letters] = [0, 0];
    for (let column = 0; column < length; column += 1) {
      if (row[column] === NO_AMINO_ACID) continue;
      sum += 1 / (counts[column * NO_AMINO_ACID + row[column]] * kinds[column]);
      letters += 1;
    }
    return sum / Math.max(1, letters);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // No row has a known letter, so all rows count alike.
  return total > 0 ? weights.map((weight) => weight / total) : weights.fill(1 / rows.length);
}

/**
 * Returns the effective number of sequences: the number of equally weighted rows with the same sum of squared weights.
 * Unit    sequences
 * Range   1..rows
 * Source  1 ÷ Σ weight² (Kish 1965), of the position-based weights
 */
export function effectiveSequences(alignment: HomologAlignment): number {
  return 1 / rowWeights(alignment).reduce((sum, weight) => sum + weight * weight, 0);
}
