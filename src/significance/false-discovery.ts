/**
 * Bound on the share of false entries among those with at least this evidence, for entries in the order of a ranking
 * by another measurement: its E-value ÷ the entries ranked no lower with an E-value no greater, itself included; and no
 * less than that of any of these.
 *
 * An entry's value depends on what stands above it only, so that it is the same however long the list is; entries with
 * better evidence further down could only lower it. It never falls as E-values rise (test/calibration proves it by
 * cases; the first entry of each E-value bounds all that come after it), and is at least the ratio of Benjamini and
 * Hochberg over all that was searched.
 * Unit    natural logarithms in (minus infinity is allowed), ratios 0..1 out, in the order of the input
 * Cost    entries × their logarithm
 * Source  Benjamini & Hochberg 1995, Storey 2002 with the null share taken as one; stepped down, not up
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
 * Chance that at least one unrelated target scores this well, the number of such targets being Poisson.
 * Unit    natural logarithm in, probability out; exact for tiny values, where 1 − e^−E would round to 0
 */
export function familyWiseProbability(logEValue: number): number {
  return -Math.expm1(-Math.exp(logEValue));
}
