import { AMINO_ACIDS } from '../../sequence/substitution.js';
import { BACKGROUND } from '../../sequence/residue-scales.js';
import { frozenRandom } from '../../random.js';

/**
 * Returns random proteins of one length. Residues are independent, with the background frequencies of real proteins.
 * The seed determines the result.
 */
export function backgroundProteins(count: number, residues: number, seed: number): readonly string[] {
  const random = frozenRandom(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: residues }, () => drawResidue(random.share())).join(''),
  );
}

/** Returns the residue at this value of the cumulative background distribution. */
function drawResidue(share: number): string {
  let rest = share;
  for (let i = 0; i < BACKGROUND.length; i++) {
    rest -= BACKGROUND[i];
    if (rest < 0) return AMINO_ACIDS[i];
  }
  // Rounded frequencies may sum to slightly less than 1.
  return AMINO_ACIDS[AMINO_ACIDS.length - 1];
}
