import { AMINO_ACIDS } from '../../sequence/substitution.js';
import { BACKGROUND } from '../../sequence/residue-scales.js';
import { frozenRandom } from '../../random.js';

/**
 * Unrelated proteins of one length, drawn residue by residue from the composition of real ones; fixed by the
 * seed.
 */
export function backgroundProteins(count: number, residues: number, seed: number): readonly string[] {
  const random = frozenRandom(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: residues }, () => drawResidue(random.share())).join(''),
  );
}

/** The residue at this share of the cumulated composition. */
function drawResidue(share: number): string {
  let rest = share;
  for (let i = 0; i < BACKGROUND.length; i++) {
    rest -= BACKGROUND[i];
    if (rest < 0) return AMINO_ACIDS[i];
  }
  // The composition's rounded shares may sum to slightly less than 1.
  return AMINO_ACIDS[AMINO_ACIDS.length - 1];
}
