/** Human-readable numbers for tables. Machine-readable formats write all digits instead. */

/**
 * An E-value to two significant digits. @param logValue its natural logarithm, because binary64 underflows at 1e-323
 */
export function formatEValue(logValue: number): string {
  const value = Math.exp(logValue);
  if (value >= 10 && value < 1e6) return value.toFixed(0);
  if (value >= 0.001 && value < 10) return String(Number(value.toPrecision(2)));
  const log = logValue / Math.LN10;
  const [digits, exponent] = Number(10 ** (log - Math.floor(log)))
    .toExponential(1)
    .split('e');
  return `${digits}e${Math.floor(log) + Number(exponent)}`;
}

/** Quantisation can make a distance near 0 slightly negative. Tables show 0. */
export function formatDistance(distance: number): string {
  return Math.max(0, distance).toFixed(4);
}

export function formatPercent(ratio: number): string {
  // 99.6 % is rounded down: only a full match reads 100.
  const percent = ratio < 1 ? Math.min(99, Math.round(ratio * 100)) : 100;
  return `${percent} %`;
}

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
