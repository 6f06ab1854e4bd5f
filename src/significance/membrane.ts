import { SCALES } from '../sequence/residue-scales.js';
import { AMINO_ACIDS, LETTER_COUNT, LETTER_MASK } from '../sequence/substitution.js';

/*
 * What the membrane helices of a pair add to its score, or take off it. Helices that cross a membrane are alike in any
 * two proteins, so that membrane proteins score high together without a common ancestor. With a soluble protein they
 * score lower than two soluble ones do. A pair with a reversed query shows neither.
 */

/** How membrane helices move the coordinate of a pair. */
export interface MembraneModel {
  /** Mean excesses that two membrane proteins take off the coordinate by having helices in common. */
  readonly commonWeight: number;
  /** Mean excesses that the helices of two membrane proteins add to it without regard to each other. */
  readonly ownWeight: number;
  /** Share of residues from which on a protein counts fully as a membrane protein. Range: 0..1, more than 0 */
  readonly fullShare: number;
}

/** Residues of a helix that crosses a membrane. */
export const HELIX_RESIDUES = 19;
/** Least mean hydropathy of such a helix. */
const LEAST_HYDROPATHY = 1.6;
/** Hydropathies in tenths, so that sums are exact. */
const TENTHS = new Int32Array(LETTER_COUNT);
[...AMINO_ACIDS].forEach(
  (letter, at) => (TENTHS[letter.charCodeAt(0) % LETTER_COUNT] = Math.round(10 * SCALES.hydropathy[at])),
);
const LEAST_SUM = Math.round(10 * LEAST_HYDROPATHY * HELIX_RESIDUES);

/**
 * Calls `found` with the end of each stretch of 19 residues with a mean hydropathy of at least 1.6, in ascending order.
 * The sequence is of upper-case letters. Others than the 20 amino acids have a hydropathy of 0.
 * Unit   residues; the end is exclusive
 * Source Kyte & Doolittle 1982
 */
export function eachMembraneStretch(sequence: string, found: (end: number) => void): void {
  const { length } = sequence;
  let sum = 0;
  for (let at = 0; at < length; at += 1) {
    sum += hydropathyAt(sequence, at);
    if (at < HELIX_RESIDUES - 1) continue;
    if (sum >= LEAST_SUM) found(at + 1);
    sum -= hydropathyAt(sequence, at - HELIX_RESIDUES + 1);
  }
}

function hydropathyAt(sequence: string, at: number): number {
  return TENTHS[sequence.charCodeAt(at) & LETTER_MASK];
}

/**
 * Returns the share of residues of a sequence that lie in such a stretch.
 * Unit   1
 * Range  0..1; 0 for sequences of less than 19 residues
 */
export function membraneShareOf(sequence: string): number {
  let [covered, before] = [0, 0];
  eachMembraneStretch(sequence, (end) => {
    // A stretch that overlaps the one before adds only its new residues.
    covered += Math.min(HELIX_RESIDUES, end - before);
    before = end;
  });
  return sequence.length === 0 ? 0 : covered / sequence.length;
}

/**
 * Returns what the membrane helices of two proteins take off the coordinate of their pair. The order does not matter.
 * Two membrane proteins have a positive excess. A membrane protein and a soluble one have a negative one.
 * Unit   mean excesses
 * Range  −ownWeight ÷ 2..commonWeight − ownWeight; 0 without a model
 */
export function membraneExcess(model: MembraneModel | undefined, one: number, other: number): number {
  if (model === undefined) return 0;
  const { commonWeight, ownWeight, fullShare } = model;
  const first = Math.min(1, one / fullShare);
  const second = Math.min(1, other / fullShare);
  return commonWeight * Math.sqrt(first * second) - (ownWeight / 2) * (first + second);
}
