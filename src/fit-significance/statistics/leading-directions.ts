import type { Random } from '../../random.js';

/**
 * Orthonormal directions along which the rows of a matrix have the largest products with each other: its leading right
 * singular vectors. Not centred, because products are to be kept.
 * Shape   rows of equal length in; [rank × rowLength] out, the rank at most that of the rows
 * Cost    iterations × rows × rowLength × rank × 2 multiply-adds
 * Source  orthogonal iteration (Golub & Van Loan, Matrix Computations, 8.2)
 */
export function leadingDirections(
  rows: readonly Float64Array[],
  wantedRank: number,
  random: Random,
): readonly Float64Array[] {
  const size = rows[0].length;
  let directions: Float64Array[] = Array.from({ length: Math.min(wantedRank, rows.length) }, () =>
    Float64Array.from({ length: size }, () => random.next() / 2 ** 31 - 1),
  );
  for (let iteration = 0; iteration < ITERATIONS; iteration += 1) {
    const images = directions.map(() => new Float64Array(size));
    for (const row of rows) {
      directions.forEach((direction, index) => addScaled(images[index], row, product(row, direction)));
    }
    directions = orthonormal(images);
  }
  return directions;
}

/** The subspace, not each direction, has to settle: products change by under a thousandth after six. */
const ITERATIONS = 6;
/** A direction that loses all but this share of itself to those before it adds nothing but rounding. */
const DEPENDENT_SHARE = 1e-10;

/** Source: modified Gram–Schmidt, twice. */
function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const kept: Float64Array[] = [];
  for (const vector of vectors) {
    const before = Math.sqrt(product(vector, vector));
    for (let pass = 0; pass < 2; pass += 1) {
      for (const other of kept) addScaled(vector, other, -product(vector, other));
    }
    const length = Math.sqrt(product(vector, vector));
    if (!(length > DEPENDENT_SHARE * before)) continue;
    kept.push(vector.map((value) => value / length));
  }
  return kept;
}

function addScaled(into: Float64Array, vector: Float64Array, factor: number): void {
  for (let at = 0; at < into.length; at += 1) into[at] += factor * vector[at];
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at] * b[at];
  return sum;
}
