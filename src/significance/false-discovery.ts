/**
 * Returns the q-value of each entry: a bound on the false discovery rate among entries with at least its evidence. The
 * entries come in the order of a ranking by another measurement. The ratio of an entry is its E-value divided by the
 * number of entries that rank no lower and have an E-value no greater, itself included. Its q-value is the largest
 * ratio of these entries.
 *
 * A q-value depends only on the entries that rank no lower, so that the length of the list does not change it. Entries
 * with better evidence further down could only lower it. Q-values do not fall as E-values rise, and are at least those
 * of Benjamini and Hochberg over all searched targets; test/significance/false-discovery.test.ts checks both.
 * Shape   one entry per element, in and out
 * Unit    natural logarithm of the E-value in; q-value out
 * Range   −∞ or any finite logarithm in; 0..1 out
 * Order   that of the input
 * Cost    entries × log(entries)
 * Source  Benjamini & Hochberg 1995, Storey 2002 with a null share of one; stepped down, not up
 */
export function qValues(logEValue: readonly number[]): Float64Array {
  const distinct = [...new Set(logEValue)].sort((a, b) => a - b);
  const places = new Map(distinct.map((log, at) => [log, at + 1]));
  const counts = new Float64Array(distinct.length + 1);
  const greatest = new Float64Array(distinct.length + 1);
  return Float64Array.from(logEValue, (log) => {
    const place = places.get(log) as number;
    for (let at = place; at < counts.length; at += at & -at) counts[at] += 1;
    let count = 0;
    for (let at = place; at > 0; at -= at & -at) count += counts[at];
    const ratio = Math.min(1, Math.exp(log) / count);
    for (let at = place; at < greatest.length; at += at & -at) greatest[at] = Math.max(greatest[at], ratio);
    let bound = 0;
    for (let at = place; at > 0; at -= at & -at) bound = Math.max(bound, greatest[at]);
    return bound;
  });
}

/**
 * Returns the probability that at least one unrelated target scores this well, if their number follows Poisson.
 * Unit    natural logarithm of the E-value in, probability out
 * Range   0..1; `expm1` keeps tiny values exact, where 1 − e^−E would round to 0
 */
export function familyWiseProbability(logEValue: number): number {
  return -Math.expm1(-Math.exp(logEValue));
}
