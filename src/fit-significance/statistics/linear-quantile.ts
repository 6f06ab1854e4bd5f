/**
 * Linear quantile regression: the weights w for which a share `level` of values lies below w · row.
 * Shape   terms [values.length × termCount], row-major; the first term of each row is the constant 1; [termCount] out
 * Unit    that of the values in; values per term out
 * Range   level 0..1; NaN if the normal equations are not positive definite
 * Cost    iterations × rows × termCount² ÷ 2 multiply-adds
 * Source  Koenker & Bassett 1978, by reweighted least squares (Schlossmacher 1973) with a smoothed corner
 */
export function fitQuantile(
  terms: Float64Array,
  values: Float64Array,
  termCount: number,
  level: number,
): Float64Array {
  const spread = standardDeviation(values);
  // Width of the smoothed corner; arbitrary if all values are equal.
  const corner = CORNER_SHARE * (spread > 0 ? spread : 1);
  const rowWeights = new Float64Array(values.length).fill(1);
  let weights: Float64Array = new Float64Array(termCount);
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration += 1) {
    const next = weightedLeastSquares(terms, values, rowWeights, termCount);
    let largestStep = 0;
    for (let term = 0; term < termCount; term += 1) {
      largestStep = Math.max(largestStep, Math.abs(next[term] - weights[term]));
    }
    weights = next;
    if (largestStep < TOLERANCE_SHARE * spread) break;
    for (let row = 0; row < values.length; row += 1) {
      let predicted = 0;
      for (let term = 0, at = row * termCount; term < termCount; term += 1, at += 1) {
        predicted += weights[term] * terms[at];
      }
      const residual = values[row] - predicted;
      rowWeights[row] = (residual > 0 ? level : 1 - level) / Math.max(Math.abs(residual), corner);
    }
  }
  return weights;
}

const MAX_ITERATIONS = 60;
/** Least residual in the weights, as a share of the values' standard deviation. It keeps the weights finite. */
const CORNER_SHARE = 0.02;
const TOLERANCE_SHARE = 1e-5;
/** Ridge penalty relative to the mean diagonal. It makes the equations solvable if a term is constant. */
const RIDGE_SHARE = 1e-7;

/**
 * Weighted least squares: the weights w that minimise Σ rowWeight · (value − w · row)², with a negligible ridge
 * penalty.
 * Shape   terms [values.length × termCount], row-major; rowWeights [values.length]; [termCount] out
 * Unit    that of the values in; values per term out
 * Range   rowWeights 0 or more
 * Source  ridge regression (Hoerl & Kennard 1970), solved by Cholesky decomposition
 */
export function weightedLeastSquares(
  terms: Float64Array,
  values: Float64Array,
  rowWeights: Float64Array,
  termCount: number,
): Float64Array {
  const normal = new Float64Array(termCount * termCount);
  const right = new Float64Array(termCount);
  for (let row = 0; row < values.length; row += 1) {
    const start = row * termCount;
    for (let a = 0; a < termCount; a += 1) {
      const weighted = rowWeights[row] * terms[start + a];
      right[a] += weighted * values[row];
      for (let b = 0; b <= a; b += 1) normal[a * termCount + b] += weighted * terms[start + b];
    }
  }
  let trace = 0;
  for (let a = 0; a < termCount; a += 1) trace += normal[a * termCount + a];
  const ridge = (RIDGE_SHARE * trace) / termCount + Number.MIN_VALUE;
  for (let a = 0; a < termCount; a += 1) normal[a * termCount + a] += ridge;
  return solvePositive(normal, right, termCount);
}

/** Solves a symmetric positive definite system by its lower triangle, which is overwritten. Source: Cholesky. */
function solvePositive(lower: Float64Array, right: Float64Array, size: number): Float64Array {
  for (let column = 0; column < size; column += 1) {
    for (let row = column; row < size; row += 1) {
      let sum = lower[row * size + column];
      for (let k = 0; k < column; k += 1) sum -= lower[row * size + k] * lower[column * size + k];
      lower[row * size + column] = row === column ? Math.sqrt(sum) : sum / lower[column * size + column];
    }
  }
  const solution = Float64Array.from(right);
  for (let row = 0; row < size; row += 1) {
    for (let k = 0; k < row; k += 1) solution[row] -= lower[row * size + k] * solution[k];
    solution[row] /= lower[row * size + row];
  }
  for (let row = size - 1; row >= 0; row -= 1) {
    for (let k = row + 1; k < size; k += 1) solution[row] -= lower[k * size + row] * solution[k];
    solution[row] /= lower[row * size + row];
  }
  return solution;
}

function standardDeviation(values: Float64Array): number {
  let mean = 0;
  for (const value of values) mean += value / values.length;
  let variance = 0;
  for (const value of values) variance += (value - mean) ** 2 / values.length;
  return Math.sqrt(variance);
}
