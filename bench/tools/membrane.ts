import { eachMembraneStretch, HELIX_RESIDUES } from '../../src/significance/membrane.js';

/** Counts the stretches of a protein that may cross a membrane as helices. They do not overlap. */
export function membraneHelixCount(sequence: string): number {
  let [count, before] = [0, 0];
  eachMembraneStretch(sequence, (end) => {
    if (end - before < HELIX_RESIDUES) return;
    count += 1;
    before = end;
  });
  return count;
}

/** The group of a protein by its membrane helices. */
export function membraneGroup(sequence: string): string {
  const count = membraneHelixCount(sequence);
  if (count === 0) return 'no membrane helix';
  return count < 3 ? '1 or 2 membrane helices' : '3 and more membrane helices';
}
