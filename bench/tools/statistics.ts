/** Returns the quantile of the values by linear interpolation. Range: share 0..1 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
