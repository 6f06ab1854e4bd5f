/*
 * What the cysteines of a pair add to its score by composition. Disulfide bridges and metals hold together small
 * proteins that are up to a third cysteine, such as defensins and metallothioneins. An affine score rewards each pair
 * of aligned cysteines as if they were rare, so that such proteins score high without a common ancestor. Reversed
 * queries show only part of that: the spacing of cysteines is natural in one direction.
 */

/** Share of cysteines up to which a protein counts as usual. Natural proteins have .014 on average. */
const USUAL_SHARE = 0.04;

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

/**
 * Returns the log odds that alignments of all cysteines gain by composition: the smaller number of cysteines times the
 * logarithm of how much commoner cysteines are than usual in both proteins. It is divided as the affine score is.
 * Unit    nats ÷ √residues
 * Range   0 and more; 0 if the geometric mean of both shares is at most USUAL_SHARE
 * Source  composition-adjusted log odds (Yu & Altschul 2005), for one residue
 */
export function cysteineExcess(a: CysteineCount, b: CysteineCount): number {
  const lengths = a.length * b.length;
  const enrichment = (a.cysteines * b.cysteines) / (lengths * USUAL_SHARE * USUAL_SHARE);
  if (enrichment <= 1) return 0;
  return (Math.min(a.cysteines, b.cysteines) * Math.log(enrichment)) / Math.sqrt(Math.sqrt(lengths));
}
