import { AMINO_ACIDS, LETTER_COUNT, LETTER_MASK } from './substitution.js';

const LETTERS = Uint8Array.from(AMINO_ACIDS, (letter) => letter.charCodeAt(0) & LETTER_MASK);
/** Letters of the sequence at work. A search counts each hit, and an array for each would take as long again. */
const counts = new Uint32Array(LETTER_COUNT);

/**
 * Counts the amino acids of a sequence in upper-case letters. Other letters do not count.
 * Shape   20 numbers, in the order of AMINO_ACIDS
 */
export function aminoAcidCounts(sequence: string): readonly number[] {
  counts.fill(0);
  const { length } = sequence;
  for (let at = 0; at < length; at += 1) counts[sequence.charCodeAt(at) & LETTER_MASK] += 1;
  const found = new Array<number>(LETTERS.length);
  for (let at = 0; at < LETTERS.length; at += 1) found[at] = counts[LETTERS[at]];
  return found;
}
