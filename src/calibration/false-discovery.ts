/**
 * Largest share of false entries that is expected in the list down to each entry: expected false hits at or
 * below its E-value ÷ entries at or below it, made monotone from the bottom up.
 * Unit    natural logarithms in (minus infinity is allowed), ratios 0..1 out, in the order of the input
 * Source  Benjamini & Hochberg 1995; Storey 2002 with the null share taken as one
 */
export function qValues(logExpectedFalseHits: readonly number[]): Float64Array {
  const ascending = new Float64Array(logExpectedFalseHits).sort();
  const smallest = new Float64Array(ascending.length);
  for (let rank = ascending.length, least = 1; rank >= 1; rank -= 1) {
    least = Math.min(least, Math.exp(ascending[rank - 1]) / rank);
    smallest[rank - 1] = least;
  }
  return new Float64Array(logExpectedFalseHits.map((log) => smallest[placeOf(log, ascending)]));
}

/** First place of a value among the ascending ones that it is one of: equal entries share the smallest ratio. */
function placeOf(value: number, ascending: Float64Array): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Chance that at least one unrelated target scores this well, the number of such targets being Poisson.
 * Unit    natural logarithm in, probability out; exact for tiny values, where 1 − e^−E would round to 0
 */
export function familyWiseProbability(logExpectedFalseHits: number): number {
  return -Math.expm1(-Math.exp(logExpectedFalseHits));
}
