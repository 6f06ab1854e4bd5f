/*
 * What the cysteines of a pair add to its score by composition. Disulfide bridges and metals hold together small
 * proteins that are up to a third cysteine, such as defensins and metallothioneins. An affine score rewards each pair
 * of aligned cysteines as if they were rare, so that such proteins score high without a common ancestor. Reversed
 * queries show only part of that: the spacing of cysteines is natural in one direction.
 */

/** Share of cysteines up to which proteins count as usual, without profiles. */
export const USUAL_CYSTEINE_SHARE = 0.04;

/** Length and number of cysteines of a protein. */
export interface CysteineCount {
  /** Unit: residues. */
  readonly length: number;
  readonly cysteines: number;
}

/** Counts the cysteines of a sequence in upper-case letters. */
export function countCysteines(sequence: string): CysteineCount {
  let cysteines = 0;
  for (let at = sequence.indexOf('C'); at >= 0; at = sequence.indexOf('C', at + 1)) cysteines += 1;
  return { length: sequence.length, cysteines };
}

/** What two proteins have in cysteines. */
export interface PairCysteines {
  /** The smaller number of cysteines. */
  readonly fewer: number;
  /** Product of both shares of cysteines. Range: 0..1 */
  readonly squaredShare: number;
  /** Product of both lengths. Unit: residues² */
  readonly lengths: number;
}

/** Combines the cysteines of two proteins. The order does not matter. */
export function pairCysteines(a: CysteineCount, b: CysteineCount): PairCysteines {
  const lengths = a.length * b.length;
  return {
    fewer: Math.min(a.cysteines, b.cysteines),
    squaredShare: (a.cysteines * b.cysteines) / lengths,
    lengths,
  };
}

/**
 * Returns the log odds that alignments of all cysteines gain by composition: the smaller number of cysteines times the
 * logarithm of how much commoner cysteines are than usual in both proteins. It is divided as the affine score is.
 * @param usualShare  share of cysteines up to which proteins count as usual. Natural proteins have .014 on average
 * Unit    nats ÷ √residues
 * Range   0 and more; 0 if the geometric mean of both shares is at most the usual share
 * Source  composition-adjusted log odds (Yu & Altschul 2005), for one residue
 */
export function cysteineExcess({ fewer, squaredShare, lengths }: PairCysteines, usualShare: number): number {
  // Most pairs end here, without the logarithms and roots.
  if (squaredShare <= usualShare * usualShare) return 0;
  const logEnrichment = Math.log(squaredShare) / 2 - Math.log(usualShare);
  return 2 * (fewer / Math.sqrt(Math.sqrt(lengths))) * logEnrichment;
}
