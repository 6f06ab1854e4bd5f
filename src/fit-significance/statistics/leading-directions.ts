import type { Random } from '../../random.js';

/**
 * Computes the leading right singular vectors of a matrix. The rows are not centred, so that the projection preserves
 * their dot products.
 * Shape   rows [any number][rowLength] in; at most [rank][rowLength] out, fewer if the rows have a smaller rank
 * Unit    that of the rows in; unit vectors out
 * Range   components in −1..1 out
 * Cost    iterations × rows × rowLength × rank × 2 multiply-adds
 * Source  orthogonal iteration (Golub & Van Loan, Matrix Computations, 8.2)
 */
export function leadingDirections(
  rows: readonly Float64Array[],
  rank: number,
  random: Random,
): readonly Float64Array[] {
  const size = rows[0].length;
  let directions: Float64Array[] = Array.from({ length: Math.min(rank, rows.length) }, () =>
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

/** Only the subspace must converge, not each vector. After six iterations products change by less than 0.1 %. */
const ITERATIONS = 6;
/** A vector whose residual is a smaller share of it depends linearly on earlier vectors, up to rounding. */
const DEPENDENT_SHARE = 1e-10;

/** Makes the vectors orthonormal and drops dependent ones. Source: modified Gram–Schmidt, twice. */
function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const basis: Float64Array[] = [];
  for (const vector of vectors) {
    const before = Math.sqrt(product(vector, vector));
    for (let pass = 0; pass < 2; pass += 1) {
      for (const other of basis) addScaled(vector, other, -product(vector, other));
    }
    const length = Math.sqrt(product(vector, vector));
    if (!(length > DEPENDENT_SHARE * before)) continue;
    basis.push(vector.map((value) => value / length));
  }
  return basis;
}

function addScaled(into: Float64Array, vector: Float64Array, factor: number): void {
  for (let at = 0; at < into.length; at += 1) into[at] += factor * vector[at];
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at] * b[at];
  return sum;
}
