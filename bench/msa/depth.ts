/** Rows with this identity or more count as one. */
const CLUSTER_IDENTITY = 0.8;
const GAP = '-'.charCodeAt(0);

/**
 * Effective number of sequences (Neff) of an alignment, in which near copies share one vote. Each row contributes 1 ÷
 * (number of rows, itself included, with an identity of 80 % or more). Identity is over the columns in which both rows
 * have a residue.
 * Range   0..rows
 * Source  Neff as ColabFold and AlphaFold count it, clusters of 80 %; identity as hhfilter counts it
 */
export function effectiveDepth(rows: readonly string[]): number {
  const columns = rows.map((row) => Buffer.from(row, 'latin1'));
  const sizes = new Float64Array(rows.length).fill(1);
  for (let left = 0; left < columns.length; left += 1) {
    for (let right = 0; right < left; right += 1) {
      if (!areAlike(columns[left], columns[right])) continue;
      sizes[left] += 1;
      sizes[right] += 1;
    }
  }
  return sizes.reduce((sum, size) => sum + 1 / size, 0);
}

function areAlike(left: Buffer, right: Buffer): boolean {
  let [both, equal] = [0, 0];
  for (let at = 0; at < left.length; at += 1) {
    if (left[at] === GAP || right[at] === GAP) continue;
    both += 1;
    if (left[at] === right[at]) equal += 1;
  }
  return both > 0 && equal >= CLUSTER_IDENTITY * both;
}
