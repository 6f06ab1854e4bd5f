import { Fault, assert } from '../errors.js';

/**
 * Multiplies each row with a matrix and scales it to length 1; float64 throughout, rounded to float32 once.
 * Without a matrix the row is only scaled. A row of zeros stays: it is close to nothing.
 *
 * Shape   rows [length × inputDimension], matrix [inputDimension × outputDimension], row-major
 * Errors  Fault where a row is not finite
 */
export function unitVectors(
  rows: Float32Array,
  inputDimension: number,
  outputDimension: number,
  matrix: Float32Array | undefined,
): Float32Array {
  assert(matrix !== undefined || inputDimension === outputDimension, 'only a matrix changes the dimension');
  const length = rows.length / inputDimension;
  const vectors = new Float32Array(length * outputDimension);
  const sums = new Float64Array(outputDimension);
  for (let row = 0; row < length; row++) {
    const features = rows.subarray(row * inputDimension, (row + 1) * inputDimension);
    if (matrix !== undefined) project(features, matrix, sums);
    const own = matrix === undefined ? features : sums;
    let squaredNorm = 0;
    for (let d = 0; d < outputDimension; d++) squaredNorm += own[d] * own[d];
    if (!Number.isFinite(squaredNorm))
      throw new Fault(`The model's vector of residue ${row + 1} is not finite.`);
    const scale = squaredNorm === 0 ? 0 : 1 / Math.sqrt(squaredNorm);
    for (let d = 0; d < outputDimension; d++) vectors[row * outputDimension + d] = own[d] * scale;
  }
  return vectors;
}

function project(features: Float32Array, matrix: Float32Array, sums: Float64Array): void {
  sums.fill(0);
  const width = sums.length;
  for (let i = 0; i < features.length; i++) {
    const feature = features[i];
    for (let d = 0; d < width; d++) sums[d] += feature * matrix[i * width + d];
  }
}

/**
 * Mixes the rows of two windows: the share of the second grows evenly from row to row. Rows of length 1
 * again.
 * Shape   both [length × dimension], of the same residues
 */
export function fadeVectors(first: Float32Array, second: Float32Array, dimension: number): Float32Array {
  const length = first.length / dimension;
  const mixed = first.map((value, i) => {
    const share = (Math.floor(i / dimension) + 0.5) / length;
    return value * (1 - share) + second[i] * share;
  });
  return unitVectors(mixed, dimension, dimension, undefined);
}
