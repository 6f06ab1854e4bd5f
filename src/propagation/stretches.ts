const SHARE_ONE = 256;

/** Part of a protein. Unit: residues, half-open */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns whether two stretches of a protein overlap by at least a share of the shorter one.
 * @param leastShare  in 256ths
 * Range   false for an empty stretch, unless the share is 0
 */
export function overlaps(one: Stretch, start: number, end: number, leastShare: number): boolean {
  const common = Math.min(one.end, end) - Math.max(one.start, start);
  const shorter = Math.min(one.end - one.start, end - start);
  return common * SHARE_ONE >= leastShare * shorter && (common > 0 || leastShare === 0);
}
