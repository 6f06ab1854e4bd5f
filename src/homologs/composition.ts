import { aminoAcidCounts } from '../sequence/amino-acid-counts.js';
import { alignedRuns, spanOf } from '../sequence/cigar.js';
import { BACKGROUND } from '../sequence/residue-scales.js';
import { BLOSUM62 } from '../sequence/substitution.js';
import type { Homolog } from './homolog-set.js';

/** Scale of BLOSUM62 with the gap costs 11 and 1. Unit: nats a half bit. Source: Altschul & Gish 1996 */
const LAMBDA = 0.267;

/** Mean score of two residues of unrelated proteins. Unit: half bits */
const USUAL_SCORE = meanScore(BACKGROUND, BACKGROUND);

/**
 * Returns the E-value that a homolog has once the compositions of the aligned stretches count.
 *
 * The E-values of mmseqs hold for proteins of usual composition. Two proteins rich in asparagine and lysine score more
 * at every aligned pair, and an alignment of a thousand pairs adds this up. So each pair gives back by how much the
 * mean score of the two compositions exceeds the usual one. Unlike compositions gain nothing, because homologs with
 * them have the E-value that mmseqs reports.
 * @param sequence  the protein
 * Range   ≥ the homolog's E-value; Infinity beyond the largest number
 */
export function composedEValue(homolog: Homolog, sequence: string): number {
  const runs = alignedRuns(homolog.cigar);
  const { query, target } = spanOf(runs);
  const { start, residueStart, residues, eValue } = homolog;
  const own = sharesOf(sequence.slice(start, start + query));
  const other = sharesOf(residues.slice(residueStart, residueStart + target));
  const excess = Math.max(0, meanScore(own, other) - USUAL_SCORE);
  const pairs = runs.reduce((sum, { operation, length }) => sum + (operation === 'M' ? length : 0), 0);
  // An E-value that mmseqs rounds to 0 stays 0, also times Infinity.
  return eValue === 0 ? 0 : eValue * Math.exp(LAMBDA * pairs * excess);
}

/** Returns the share of each amino acid, in the order of AMINO_ACIDS; zeros for letters that are none. */
function sharesOf(letters: string): readonly number[] {
  const counts = aminoAcidCounts(letters);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (total === 0 ? 0 : count / total));
}

/** Returns the mean score of BLOSUM62 over all pairs of residues of two compositions. */
function meanScore(first: ArrayLike<number>, second: ArrayLike<number>): number {
  let sum = 0;
  BLOSUM62.forEach((row, one) => {
    row.forEach((score, other) => (sum += first[one] * second[other] * score));
  });
  return sum;
}
