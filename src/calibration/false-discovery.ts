/**
 * Largest share of false entries that is expected in the list down to each entry: expected false hits at or
 * below its E-value ÷ entries at or below it, made monotone from the bottom up.
 * Unit    natural logarithms in (minus infinity is allowed), ratios 0..1 out, in the order of the input
 * Source  Benjamini & Hochberg 1995; Storey 2002 with the null share taken as one
 */
export function qValues(logExpectedFalseHits: readonly number[]): Float64Array {
  const order = Array.from(logExpectedFalseHits.keys()).sort(
    (a, b) => logExpectedFalseHits[a] - logExpectedFalseHits[b],
  );
  const result = new Float64Array(order.length);
  let smallest = 1;
  for (let rank = order.length; rank >= 1; rank -= 1) {
    const index = order[rank - 1];
    smallest = Math.min(smallest, Math.exp(logExpectedFalseHits[index]) / rank);
    result[index] = smallest;
  }
  return result;
}

/**
 * Chance that at least one unrelated target scores this well, the number of such targets being Poisson.
 * Unit    natural logarithm in, probability out; exact for tiny values, where 1 − e^−E would round to 0
 */
export function familyWiseProbability(logExpectedFalseHits: number): number {
  return -Math.expm1(-Math.exp(logExpectedFalseHits));
}
