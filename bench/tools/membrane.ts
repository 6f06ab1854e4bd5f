import { SCALES } from '../../src/sequence/residue-scales.js';
import { AMINO_ACIDS } from '../../src/sequence/substitution.js';

/** Residues of a helix that crosses a membrane. */
const HELIX_RESIDUES = 19;
/** Least mean hydropathy of such a helix. */
const LEAST_HYDROPATHY = 1.6;

/**
 * Counts the stretches of a protein that may cross a membrane as helices. They do not overlap.
 * Source  Kyte & Doolittle 1982
 */
export function membraneHelixCount(sequence: string): number {
  const { hydropathy } = SCALES;
  let [count, at] = [0, 0];
  while (at + HELIX_RESIDUES <= sequence.length) {
    let sum = 0;
    for (const letter of sequence.slice(at, at + HELIX_RESIDUES))
      sum += hydropathy[AMINO_ACIDS.indexOf(letter)] ?? 0;
    const isHelix = sum >= LEAST_HYDROPATHY * HELIX_RESIDUES;
    if (isHelix) count += 1;
    at += isHelix ? HELIX_RESIDUES : 1;
  }
  return count;
}

/** The group of a protein by its membrane helices. */
export function membraneGroup(sequence: string): string {
  const count = membraneHelixCount(sequence);
  if (count === 0) return 'no membrane helix';
  return count < 3 ? '1 or 2 membrane helices' : '3 and more membrane helices';
}
