/**
 * Eigenvalues of a symmetric matrix, largest first, and their unit eigenvectors, signed so that the largest
 * component is positive. Only operations that IEEE 754 fixes to the bit are used, so the result is the same
 * on every machine.
 * Cost    tens of sweeps of n³ operations: for small matrices
 * Source  cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, 8.5)
 */
export function symmetricEigen(matrix: readonly (readonly number[])[]): {
  readonly values: readonly number[];
  readonly vectors: readonly (readonly number[])[];
} {
  const size = matrix.length;
  const a = matrix.map((row) => [...row]);
  const vectors = matrix.map((_, i) => matrix.map((__, j) => (i === j ? 1 : 0)));
  for (let sweep = 0; sweep < MAX_SWEEPS && offDiagonal(a) > 0; sweep++) {
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) rotate(a, vectors, p, q);
  }
  const order = a.map((_, i) => i).sort((i, j) => a[j][j] - a[i][i]);
  return {
    values: order.map((i) => a[i][i]),
    vectors: order.map((i) => withFixedSign(vectors.map((row) => row[i]))),
  };
}

/** Convergence is quadratic; ten sweeps reach the last bit at any size used here. */
const MAX_SWEEPS = 60;

function offDiagonal(a: readonly (readonly number[])[]): number {
  return a.reduce(
    (sum, row, i) => sum + row.reduce((part, value, j) => (i === j ? part : part + value * value), 0),
    0,
  );
}

/** Turns the plane of p and q so that a[p][q] becomes zero. */
function rotate(a: number[][], vectors: number[][], p: number, q: number): void {
  const off = a[p][q];
  if (off === 0) return;
  const theta = (a[q][q] - a[p][p]) / (2 * off);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (const rows of [a, vectors]) {
    for (const row of rows)
      [row[p], row[q]] = [cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]];
  }
  const [rowP, rowQ] = [a[p], a[q]];
  for (let i = 0; i < rowP.length; i++) {
    [rowP[i], rowQ[i]] = [cosine * rowP[i] - sine * rowQ[i], sine * rowP[i] + cosine * rowQ[i]];
  }
  rowP[q] = 0;
  rowQ[p] = 0;
}

function withFixedSign(vector: readonly number[]): readonly number[] {
  const largest = vector.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return largest < 0 ? vector.map((value) => -value) : vector;
}
