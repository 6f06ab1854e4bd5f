/** Numbers as people read them in tables; machine-readable formats write all digits instead. */

/** Two significant digits; a value that binary64 cannot tell from zero says so. */
export function formatEValue(value: number): string {
  if (value === 0) return '<1e-300';
  if (value < 0.001 || value >= 1e6) return value.toExponential(1).replace('e+', 'e');
  return value >= 10 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}

/** Quantisation can make a distance near 0 slightly negative; to a person it never is. */
export function formatDistance(distance: number): string {
  return Math.max(0, distance).toFixed(4);
}

export function formatPercent(ratio: number): string {
  // 99.6 % is not all: only a full match reads 100.
  const percent = ratio < 1 ? Math.min(99, Math.round(ratio * 100)) : 100;
  return `${percent} %`;
}

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
