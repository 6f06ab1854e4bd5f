import { PROFILE_WIDTH, type QueryTokens } from '../kernels/kernels.js';
import { secondMoments } from '../kernels/native.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';

/*
 * First and second moments of a protein's residue tokens. They measure how similar two proteins are in composition.
 * The mean cosine of all residue pairs is the dot product of the two means. The mean squared cosine is the product
 * tr(Mq Mt) of the two second moments. As covariates they make null scores of membrane proteins, helix bundles and
 * low-complexity regions comparable with those of other proteins. The moments of two profiles serve the same purpose
 * for Smith–Waterman scores of profiles.
 */

/** Longer proteins are measured on this many evenly spaced rows, which bounds the cost of a query. */
const MOMENT_MAX_ROWS = 256;

/** Moments of one protein. Unit: components of unit vectors (an int8 component ÷ inverseStep). */
export interface TokenMoments {
  /** [dimension] */
  readonly mean: Float64Array;
  /** Upper triangle [dimension × (dimension + 1) ÷ 2], off-diagonals × √2, so that a dot product is a trace. */
  readonly second: Float64Array;
}

/** The quantisation of a release's tokens and profiles. */
export interface MomentForm {
  readonly dimension: number;
  readonly inverseStep: number;
  /** Quantisation scale of the profiles; undefined if the release has none. */
  readonly profileScale?: number;
}

/** Reads the quantisation of tokens and profiles from a release's manifest. */
export function momentForm({
  encoder: { dimension, inverse_step: inverseStep },
  affine,
}: {
  readonly encoder: { readonly dimension: number; readonly inverse_step: number };
  readonly affine: { readonly profile?: { readonly scale: number } };
}): MomentForm {
  return { dimension, inverseStep, profileScale: affine.profile?.scale };
}

/** Moments of a protein's tokens and, if it has one, of its profile. */
export interface ProteinMoments extends TokenMoments {
  readonly profile?: ProfileMoments;
}

/** Unit: frequencies ÷ √background. Shape: mean [PROFILE_WIDTH], second accordingly */
export interface ProfileMoments extends TokenMoments {
  /** ln of the effective number of sequences of the profile. */
  readonly logEffective: number;
}

/**
 * Returns the moments of a protein from its tokens and profile.
 * Cost  min(length, 256) × dimension² ÷ 2 multiply-adds
 */
export function proteinMoments(
  { values, length, profile, effectiveSequences = 1 }: QueryTokens,
  { dimension, inverseStep, profileScale }: MomentForm,
): ProteinMoments {
  const moments = tokenMoments(values, length, dimension, inverseStep);
  if (profile === undefined || profileScale === undefined) return moments;
  const ofProfile = ofKinds(tokenMoments(profile, length, PROFILE_WIDTH, profileScale));
  return { ...moments, profile: { ...ofProfile, logEffective: Math.log(effectiveSequences) } };
}

/**
 * Returns mean and second moment of token rows. Of more than 256 rows only 256, evenly spaced, are used.
 * Shape   values int8 [length × dimension], row-major; length ≥ 1
 * Unit    values are components × inverseStep; the moments are components of unit vectors
 * Range   −128..127 in; means in −1..1 if the rows are unit vectors
 * Cost    min(length, 256) × dimension² ÷ 2 multiply-adds
 */
export function tokenMoments(
  values: Int8Array,
  length: number,
  dimension: number,
  inverseStep: number,
): TokenMoments {
  const rows = Math.min(length, MOMENT_MAX_ROWS);
  const gathered = gatherRows(values, length, rows, dimension);
  const sums = new Float64Array(dimension);
  for (let start = 0; start < gathered.length; start += dimension) {
    for (let a = 0; a < dimension; a += 1) sums[a] += gathered[start + a];
  }
  const second = new Float64Array(secondMoments(gathered, dimension));
  const unit = 1 / (rows * inverseStep * inverseStep);
  let cell = 0;
  for (let a = 0; a < dimension; a += 1) {
    sums[a] /= rows * inverseStep;
    second[cell] *= unit;
    cell += 1;
    for (let b = a + 1; b < dimension; b += 1, cell += 1) second[cell] *= unit * Math.SQRT2;
  }
  return { mean: sums, second };
}

/** Number of amino acids: the length of a profile row without padding. */
const KINDS = AMINO_ACIDS.length;
export const PROFILE_MEAN_SIZE = KINDS;
export const PROFILE_SECOND_SIZE = secondMomentSize(KINDS);

/** Removes the padding columns from the moments of profile rows. */
function ofKinds({ mean, second }: TokenMoments): TokenMoments {
  const triangle = new Float64Array(PROFILE_SECOND_SIZE);
  let [from, to] = [0, 0];
  for (let kind = 0; kind < KINDS; kind += 1) {
    triangle.set(second.subarray(from, from + KINDS - kind), to);
    from += PROFILE_WIDTH - kind;
    to += KINDS - kind;
  }
  return { mean: mean.slice(0, KINDS), second: triangle };
}

/** Returns evenly spaced rows, or the input if it has no more than `rows`. */
function gatherRows(values: Int8Array, length: number, rows: number, dimension: number): Int8Array {
  if (rows === length) return values;
  const gathered = new Int8Array(rows * dimension);
  for (let row = 0; row < rows; row += 1) {
    const start = Math.floor((row * length) / rows) * dimension;
    gathered.set(values.subarray(start, start + dimension), row * dimension);
  }
  return gathered;
}

/** Returns the length of the upper triangle of a dimension × dimension matrix. */
export function secondMomentSize(dimension: number): number {
  return (dimension * (dimension + 1)) / 2;
}

/**
 * Means and sketches of many proteins. A sketch is the projection of a second moment on a basis that approximately
 * preserves dot products of second moments. It has `rank` components instead of dimension² ÷ 2.
 */
export interface MomentTable {
  readonly dimension: number;
  readonly rank: number;
  /** [count × dimension], row-major. */
  readonly means: Float32Array;
  /** [count × rank], row-major. */
  readonly sketches: Float32Array;
  /** [rank × dimension × (dimension + 1) ÷ 2], orthonormal rows. */
  readonly basis: Float32Array;
  /** Present if the proteins have profiles. Twenty components need no sketch. */
  readonly profiles?: ProfileTable;
}

/** Profile moments of many proteins, row-major. */
export interface ProfileTable {
  /** [count × PROFILE_MEAN_SIZE] */
  readonly means: Float32Array;
  /** [count × PROFILE_SECOND_SIZE] */
  readonly seconds: Float32Array;
  /** [count]; ln of the effective number of sequences. */
  readonly logEffective: Float32Array;
}

/** The covariates of one pair in the null model beside the two lengths. Unit: cosine, unless stated. */
export interface PairMoments {
  /** Mean over all residue pairs. */
  readonly meanCosine: number;
  /** Standard deviation over all residue pairs. */
  readonly cosineSpread: number;
  /** ln of the mean of Σ q p ÷ background over all pairs of columns of two profiles; 0 without profiles. */
  readonly logProfileMean: number;
  /** ln of the standard deviation of the same sum; 0 without profiles. */
  readonly logProfileSpread: number;
  /** ln of the smaller effective number of sequences of the two profiles; 0 without profiles. */
  readonly logEffective: number;
}

/** Moments of a protein with the second moment as a sketch. */
export interface ProjectedMoments {
  /** [dimension] */
  readonly mean: Float64Array;
  /** [rank] */
  readonly sketch: Float64Array;
  readonly profile?: ProfileMoments;
}

/**
 * Projects the second moment of a protein on a basis.
 * Shape  basis [rank × second moment], row-major, orthonormal rows
 * Unit   those of the moments
 * Range  components of basis rows in −1..1
 */
export function projectMoments(moments: ProteinMoments, basis: Float32Array, rank: number): ProjectedMoments {
  const size = moments.second.length;
  const sketch = new Float64Array(rank);
  for (let component = 0; component < rank; component += 1) {
    sketch[component] = rowProduct(basis, component * size, moments.second);
  }
  return { mean: moments.mean, sketch, profile: moments.profile };
}

/** Returns the covariates of a pair of proteins, as `pairMoments` does for a protein and a row of a table. */
export function momentsOfPair(a: ProjectedMoments, b: ProjectedMoments): PairMoments {
  const [first, second] = [a.profile, b.profile];
  return pairOf(
    product(a.mean, b.mean),
    product(a.sketch, b.sketch),
    first &&
      second && {
        mean: product(first.mean, second.mean),
        square: product(first.second, second.second),
        logEffective: Math.min(first.logEffective, second.logEffective),
      },
  );
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at] * b[at];
  return sum;
}

/** Returns the covariates of the pair of a protein and one row of the table. */
export function pairMoments(protein: ProjectedMoments, table: MomentTable, row: number): PairMoments {
  const { dimension, rank } = table;
  const meanCosine = rowProduct(table.means, row * dimension, protein.mean);
  const meanSquare = rowProduct(table.sketches, row * rank, protein.sketch);
  return pairOf(meanCosine, meanSquare, protein.profile && profilePair(protein.profile, table.profiles, row));
}

function profilePair(
  { mean, second, logEffective }: ProfileMoments,
  table: ProfileTable | undefined,
  row: number,
): ProfilePair | undefined {
  return (
    table && {
      mean: rowProduct(table.means, row * mean.length, mean),
      square: rowProduct(table.seconds, row * second.length, second),
      logEffective: Math.min(logEffective, table.logEffective[row]),
    }
  );
}

/** Means of Σ q p ÷ background and of its square, over all pairs of columns of two profiles. */
interface ProfilePair {
  readonly mean: number;
  readonly square: number;
  readonly logEffective: number;
}

/**
 * Returns the covariates of a pair from its means and mean squares.
 * Unit  cosine and squared cosine
 */
function pairOf(meanCosine: number, meanSquare: number, profiles: ProfilePair | undefined): PairMoments {
  // A sketch loses a part of the second moment, so that the mean square can lie below the squared mean.
  const cosineSpread = Math.sqrt(Math.max(0, meanSquare - meanCosine * meanCosine));
  if (profiles === undefined) {
    return { meanCosine, cosineSpread, logProfileMean: 0, logProfileSpread: 0, logEffective: 0 };
  }
  const { mean, square, logEffective } = profiles;
  const variance = Math.max(LEAST_VARIANCE, square - mean * mean);
  return {
    meanCosine,
    cosineSpread,
    logProfileMean: Math.log(Math.max(LEAST_VARIANCE, mean)),
    logProfileSpread: Math.log(variance) / 2,
    logEffective,
  };
}

/** Keeps the logarithm finite. Two profiles without any variance are far outside the calibrated range. */
const LEAST_VARIANCE = 1e-6;

/** Returns the dot product of a row and a vector. Four independent sums take half the time of one. */
function rowProduct(table: Float32Array, start: number, vector: Float64Array): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let at = 0;
  for (; at + 3 < vector.length; at += 4) {
    first += table[start + at] * vector[at];
    second += table[start + at + 1] * vector[at + 1];
    third += table[start + at + 2] * vector[at + 2];
    fourth += table[start + at + 3] * vector[at + 3];
  }
  for (; at < vector.length; at += 1) first += table[start + at] * vector[at];
  return first + second + (third + fourth);
}

/**
 * Returns the concentration of a protein's residue tokens: the square root of the norm of their second moment. It is
 * the root of the root mean squared cosine of all residue pairs. Low-complexity proteins and homopolymers have a high
 * concentration.
 * Range  dimension^(−¼)..1 for unit vectors; 1 for a single repeated token
 */
export function concentration(moments: TokenMoments): number {
  let sum = 0;
  for (const value of moments.second) sum += value * value;
  return Math.sqrt(Math.sqrt(sum));
}
