import { BACKGROUND, SCALES } from '../sequence/residue-scales.js';
import type { Random } from '../random.js';
import { integer } from './draws.js';

/*
 * The position of a site in the fold determines its amino-acid frequencies and its rate. Real homologs share the
 * sequence pattern of their structure. Without this model simulated homologs would share only residues.
 */

/** Index of a site's environment in ENVIRONMENT_FREQUENCIES. */
const HELIX_BURIED = 0;
const HELIX_EXPOSED = 1;
const STRAND_BURIED = 2;
const STRAND_EXPOSED = 3;
const LOOP_BURIED = 4;
const LOOP_EXPOSED = 5;

/**
 * Equilibrium frequency of each amino acid in each environment. It is proportional to the background frequency times
 * the propensity for helix or strand (Chou & Fasman 1978), or for neither in a loop. A third factor is linear in the
 * hydropathy of Kyte & Doolittle 1982: rising for buried sites, falling for exposed ones.
 * Shape  [environment][amino acid]; each row sums to 1
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

/** Draws the environments and rates of a domain: helices, strands or both, separated by loops. */
export function randomStructure(length: number, random: Random): SiteTraits[] {
  const helixShare = [0, 0.5, 1][integer(random, 0, 2)];
  const sites: SiteTraits[] = [];
  while (sites.length < length) {
    for (let left = integer(random, 3, 8); left > 0; left -= 1) sites.push(loopSite(random));
    if (random.share() < helixShare) {
      const phase = integer(random, 0, 6);
      for (let left = integer(random, 9, 18); left > 0; left -= 1) {
        // One side of a helix faces the core. Two turns of a helix have about seven residues.
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

/** Returns the sites of a linker or an insertion: exposed loops of the fastest rate class. */
export function randomLoop(length: number): SiteTraits[] {
  return Array.from({ length }, () => ({ environment: LOOP_EXPOSED, rateClass: RATE_CLASSES - 1 }));
}

function loopSite(random: Random): SiteTraits {
  return random.share() < 0.2 ? site(LOOP_BURIED, true, random) : site(LOOP_EXPOSED, false, random);
}

/** Draws the rate of a site. Buried sites are slow and exposed ones fast; overall the classes are equally frequent. */
function site(environment: number, isBuried: boolean, random: Random): SiteTraits {
  const rates = [integer(random, 0, RATE_CLASSES - 1), integer(random, 0, RATE_CLASSES - 1)];
  return { environment, rateClass: isBuried ? Math.min(...rates) : Math.max(...rates) };
}

interface Propensities {
  readonly helix: number;
  readonly strand: number;
}

/** Returns the frequencies of buried and of exposed sites. */
function bothSides(propensity: (propensities: Propensities) => number): number[][] {
  const { helix, strand, hydropathy } = SCALES;
  const shares = (preference: (hydropathy: number) => number): number[] => {
    const weights = BACKGROUND.map(
      (share, residue) =>
        share *
        propensity({ helix: helix[residue], strand: strand[residue] }) *
        preference(hydropathy[residue]),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  };
  return [shares((value) => value + 5), shares((value) => 5.5 - value)];
}
