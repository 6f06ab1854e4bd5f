import { frozenRandom, type Random } from '../random.js';

/**
 * A random matrix with orthonormal columns, [rows × columns] row-major, the same for the same seed on every
 * machine: only additions, multiplications, divisions and square roots are used, which IEEE 754 fixes to the
 * bit.
 * Range   1 ≤ columns ≤ rows
 * Source  Gram–Schmidt on normal columns gives the uniform (Haar) distribution
 */
export function randomOrthogonal(rows: number, columns: number, seed: number): Float32Array {
  if (columns > rows)
    throw new RangeError(`${columns} orthonormal columns do not fit in ${rows} dimensions.`);
  const random = frozenRandom(seed);
  const basis: Float64Array[] = [];
  while (basis.length < columns) {
    const column = Float64Array.from({ length: rows }, () => normal(random));
    // Twice, because one pass leaves rounding errors that a second removes.
    for (let pass = 0; pass < 2; pass++) for (const other of basis) removeComponent(column, other);
    const norm = Math.sqrt(dot(column, column));
    basis.push(column.map((value) => value / norm));
  }
  return Float32Array.from({ length: rows * columns }, (_, i) => basis[i % columns][Math.floor(i / columns)]);
}

/** Nearly normal (a sum of twelve uniform numbers): logarithms and cosines may differ between machines. */
function normal(random: Random): number {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random.share();
  return sum;
}

function removeComponent(vector: Float64Array, unit: Float64Array): void {
  const length = dot(vector, unit);
  for (let i = 0; i < vector.length; i++) vector[i] -= length * unit[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
