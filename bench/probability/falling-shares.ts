/** Pairs of similar E-values. */
export interface Bin {
  /** Mean ln of their E-values. */
  readonly at: number;
  readonly pairs: number;
  /** Sum of the weights of all pairs, and of the homologous ones. */
  readonly weight: number;
  readonly homologs: number;
}

/**
 * Merges adjacent bins until each has enough pairs and the shares of homologs fall.
 * Source  pool adjacent violators (Ayer et al. 1955)
 * @param bins  ascending by `at`
 */
export function fallingShares(bins: readonly Bin[], leastPairs: number): readonly Bin[] {
  const pooled: Bin[] = [];
  for (const bin of bins) {
    pooled.push(bin);
    while (pooled.length > 1) {
      const [before, last] = pooled.slice(-2);
      const isFalling = last.homologs / last.weight < before.homologs / before.weight;
      if (isFalling && before.pairs >= leastPairs) break;
      pooled.splice(-2, 2, mergeBins(before, last));
    }
  }
  const last = pooled.at(-1);
  if (last !== undefined && pooled.length > 1 && last.pairs < leastPairs) {
    pooled.splice(-2, 2, mergeBins(pooled[pooled.length - 2], last));
  }
  return pooled;
}

function mergeBins(one: Bin, other: Bin): Bin {
  const weight = one.weight + other.weight;
  return {
    at: (one.at * one.weight + other.at * other.weight) / weight,
    pairs: one.pairs + other.pairs,
    weight,
    homologs: one.homologs + other.homologs,
  };
}
