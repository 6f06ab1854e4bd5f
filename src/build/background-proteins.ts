import { BACKGROUND, BASELINE_RESIDUES } from './baseline-scales.js';
import { seededRandom } from './random-orthogonal.js';

/**
 * Unrelated proteins of one length, drawn residue by residue from the composition of real ones; fixed by the
 * seed.
 */
export function backgroundProteins(count: number, residues: number, seed: number): readonly string[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: residues }, () => drawResidue(random())).join(''),
  );
}

/** The residue at this share of the cumulated composition. */
function drawResidue(share: number): string {
  let rest = share;
  for (let i = 0; i < BACKGROUND.length; i++) {
    rest -= BACKGROUND[i];
    if (rest < 0) return BASELINE_RESIDUES[i];
  }
  // The composition's rounded shares may sum to slightly less than 1.
  return BASELINE_RESIDUES[BASELINE_RESIDUES.length - 1];
}
