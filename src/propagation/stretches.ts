const SHARE_ONE = 256;

/**
 * Returns whether two stretches of a protein, half-open from start to end, overlap by at least a share of the shorter
 * one.
 * @param leastShare  in 256ths
 * Unit    residues
 * Range   false for an empty stretch, unless the share is 0
 */
export function overlaps(
  oneStart: number,
  oneEnd: number,
  otherStart: number,
  otherEnd: number,
  leastShare: number,
): boolean {
  const common = Math.min(oneEnd, otherEnd) - Math.max(oneStart, otherStart);
  const shorter = Math.min(oneEnd - oneStart, otherEnd - otherStart);
  return common * SHARE_ONE >= leastShare * shorter && (common > 0 || leastShare === 0);
}
