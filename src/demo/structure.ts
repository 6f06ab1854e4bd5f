import { BACKGROUND, SCALES } from '../sequence/residue-scales.js';
import type { Random } from '../random.js';
import { integer } from './draws.js';

/*
 * Where a site stands in the fold decides which amino acids it takes and how freely: without this, simulated
 * relatives would share no more than letters, while real ones share the pattern of their structure.
 */

/** Index of a site's environment in ENVIRONMENT_FREQUENCIES. */
const HELIX_BURIED = 0;
const HELIX_EXPOSED = 1;
const STRAND_BURIED = 2;
const STRAND_EXPOSED = 3;
const LOOP_BURIED = 4;
const LOOP_EXPOSED = 5;

/**
 * Equilibrium share of each amino acid in each environment: the background of real proteins, times the propensity
 * for helix or strand (Chou & Fasman 1978; a loop takes what both avoid), times the liking for the inside or the
 * outside (linear in the hydropathy of Kyte & Doolittle 1982).
 */
export const ENVIRONMENT_FREQUENCIES: readonly (readonly number[])[] = [
  ...bothSides(({ helix }) => helix * helix),
  ...bothSides(({ strand }) => strand * strand),
  ...bothSides(({ helix, strand }) => (2.2 - helix) * (2.2 - strand)),
];

/** Rate classes are 0 (slow) to 3 (fast). */
const RATE_CLASSES = 4;

export interface SiteTraits {
  readonly environment: number;
  readonly rateClass: number;
}

/** Environments and rates of a domain of this length: helices, strands or both, with loops between them. */
export function randomStructure(length: number, random: Random): SiteTraits[] {
  const helixShare = [0, 0.5, 1][integer(random, 0, 2)];
  const sites: SiteTraits[] = [];
  while (sites.length < length) {
    for (let left = integer(random, 3, 8); left > 0; left -= 1) sites.push(loopSite(random));
    if (random.share() < helixShare) {
      const phase = integer(random, 0, 6);
      for (let left = integer(random, 9, 18); left > 0; left -= 1) {
        // One side of a helix faces the core: two of its turns take seven residues.
        const isBuried = [0, 3, 4].includes((left + phase) % 7);
        sites.push(site(isBuried ? HELIX_BURIED : HELIX_EXPOSED, isBuried, random));
      }
    } else {
      // Neighbours in a strand point to opposite sides of the sheet.
      for (let left = integer(random, 4, 9); left > 0; left -= 1) {
        sites.push(site(left % 2 === 0 ? STRAND_BURIED : STRAND_EXPOSED, left % 2 === 0, random));
      }
    }
  }
  return sites.slice(0, length);
}

/** A linker or an insertion: exposed, and free to change. */
export function randomLoop(length: number): SiteTraits[] {
  return Array.from({ length }, () => ({ environment: LOOP_EXPOSED, rateClass: RATE_CLASSES - 1 }));
}

function loopSite(random: Random): SiteTraits {
  return random.share() < 0.2 ? site(LOOP_BURIED, true, random) : site(LOOP_EXPOSED, false, random);
}

/** The core changes slowly, the surface fast; over both the four classes are about equally frequent. */
function site(environment: number, isBuried: boolean, random: Random): SiteTraits {
  const rates = [integer(random, 0, RATE_CLASSES - 1), integer(random, 0, RATE_CLASSES - 1)];
  return { environment, rateClass: isBuried ? Math.min(...rates) : Math.max(...rates) };
}

interface Propensities {
  readonly helix: number;
  readonly strand: number;
}

function bothSides(propensity: (propensities: Propensities) => number): number[][] {
  const { helix, strand, hydropathy } = SCALES;
  const shares = (liking: (hydropathy: number) => number): number[] => {
    const weights = BACKGROUND.map(
      (share, residue) =>
        share * propensity({ helix: helix[residue], strand: strand[residue] }) * liking(hydropathy[residue]),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  };
  return [shares((value) => value + 5), shares((value) => 5.5 - value)];
}
