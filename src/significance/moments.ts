import { PROFILE_WIDTH, type QueryTokens } from '../kernels/kernels.js';
import { secondMoments } from '../kernels/native.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';

/*
 * First and second moments of a protein's residue tokens: what two unrelated proteins share in composition. The mean
 * cosine of all residue pairs is the product of the two means; the mean squared cosine is the product of the two second
 * moments, tr(Mq Mt). Both are the covariates that make null scores of membrane proteins, helix bundles and
 * low-complexity stretches comparable with those of everything else. The same two of the profiles of two families do
 * it for what affine scores take from these.
 */

/** Longer proteins are measured on this many evenly spread rows, which bounds the cost of a query. */
const MOMENT_MAX_ROWS = 256;

/** Moments of one protein. Unit: components of unit vectors (an int8 component ÷ inverseStep). */
export interface TokenMoments {
  /** [dimension] */
  readonly mean: Float64Array;
  /** [dimension × (dimension + 1) ÷ 2]: upper triangle, off-diagonals × √2, so that a dot product is a trace. */
  readonly second: Float64Array;
}

/** What the moments of a release's proteins are made of. */
export interface MomentForm {
  readonly dimension: number;
  readonly inverseStep: number;
  /** Of its profiles; undefined where it has none. */
  readonly profileScale?: number;
}

/** The form of a release's moments, by its manifest. */
export function momentForm({
  encoder: { dimension, inverse_step: inverseStep },
  affine,
}: {
  readonly encoder: { readonly dimension: number; readonly inverse_step: number };
  readonly affine: { readonly profile?: { readonly scale: number } };
}): MomentForm {
  return { dimension, inverseStep, profileScale: affine.profile?.scale };
}

/** Moments of a protein's tokens and, where it has one, of its profile. */
export interface ProteinMoments extends TokenMoments {
  readonly profile?: ProfileMoments;
}

/** Unit: frequencies ÷ √background. Shape: mean [PROFILE_WIDTH], second accordingly */
export interface ProfileMoments extends TokenMoments {
  /** ln of the sequences that the profile is worth. */
  readonly logEffective: number;
}

/** Cost  min(length, 256) × dimension² ÷ 2 multiply-adds */
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
 * Shape   values int8 [length × dimension], row-major
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

/** Amino acids: what is left of a profile's row without its padding. */
const KINDS = AMINO_ACIDS.length;
export const PROFILE_MEAN_SIZE = KINDS;
export const PROFILE_SECOND_SIZE = secondMomentSize(KINDS);

/** Moments of profile rows without the padding that follows their frequencies. */
function ofKinds({ mean, second }: TokenMoments): TokenMoments {
  const kept = new Float64Array(PROFILE_SECOND_SIZE);
  let [from, to] = [0, 0];
  for (let kind = 0; kind < KINDS; kind += 1) {
    kept.set(second.subarray(from, from + KINDS - kind), to);
    from += PROFILE_WIDTH - kind;
    to += KINDS - kind;
  }
  return { mean: mean.slice(0, KINDS), second: kept };
}

/** Evenly spread rows. */
function gatherRows(values: Int8Array, length: number, rows: number, dimension: number): Int8Array {
  if (rows === length) return values;
  const gathered = new Int8Array(rows * dimension);
  for (let row = 0; row < rows; row += 1) {
    const start = Math.floor((row * length) / rows) * dimension;
    gathered.set(values.subarray(start, start + dimension), row * dimension);
  }
  return gathered;
}

export function secondMomentSize(dimension: number): number {
  return (dimension * (dimension + 1)) / 2;
}

/**
 * Means and sketches of many proteins, row-major. A sketch is a second moment in the coordinates of a basis that
 * keeps products of second moments: [count × rank] instead of [count × dimension²/2].
 */
export interface MomentTable {
  readonly dimension: number;
  readonly rank: number;
  readonly means: Float32Array;
  readonly sketches: Float32Array;
  /** [rank × dimension × (dimension + 1) ÷ 2], orthonormal rows. */
  readonly basis: Float32Array;
  /** Of profiles, where the proteins have them: twenty components need no sketch. */
  readonly profiles?: ProfileTable;
}

/** Shape: [count × PROFILE_MEAN_SIZE], [count × PROFILE_SECOND_SIZE], row-major, and [count]. */
export interface ProfileTable {
  readonly means: Float32Array;
  readonly seconds: Float32Array;
  readonly logEffective: Float32Array;
}

/** What the null of one pair depends on beside the two lengths. Unit: cosine. */
export interface PairMoments {
  /** Mean over all residue pairs. */
  readonly meanCosine: number;
  /** Standard deviation over all residue pairs. */
  readonly cosineSpread: number;
  /**
   * The same two of Σ q p ÷ background over all pairs of columns of two profiles, as natural logarithms; 0 without
   * profiles.
   */
  readonly logProfileMean: number;
  readonly logProfileSpread: number;
  /** ln of the sequences that the poorer of the two profiles is worth; 0 without profiles. */
  readonly logEffective: number;
}

/** A protein as its pairs with a table see it. */
export interface ProjectedMoments {
  readonly mean: Float64Array;
  readonly sketch: Float64Array;
  readonly profile?: ProfileMoments;
}

export function projectMoments(moments: ProteinMoments, basis: Float32Array, rank: number): ProjectedMoments {
  const size = moments.second.length;
  const sketch = new Float64Array(rank);
  for (let component = 0; component < rank; component += 1) {
    sketch[component] = rowProduct(basis, component * size, moments.second);
  }
  return { mean: moments.mean, sketch, profile: moments.profile };
}

/** The pair of a protein with one row of the table. */
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

/** Means over all pairs of columns of two profiles: of Σ q p ÷ background, and of its square. */
interface ProfilePair {
  readonly mean: number;
  readonly square: number;
  readonly logEffective: number;
}

/** Means and mean squares of a pair as the null takes them. */
export function pairOf(
  meanCosine: number,
  meanSquare: number,
  profiles: ProfilePair | undefined,
): PairMoments {
  // A sketch that misses a part of a second moment can fall short of the squared mean.
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

/** Two profiles without any spread are far beyond every calibrated pair; their logarithm has to be a number. */
const LEAST_VARIANCE = 1e-6;

/** A row of a table times a vector, in four sums that do not wait for each other: half the time of one. */
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
 * How alike a protein's residues are to each other: the root of its second moment's norm, 1 for a single repeated
 * token, 1 ÷ √dimension at the least. Low-complexity proteins and homopolymers have a high one.
 */
export function concentration(moments: TokenMoments): number {
  let sum = 0;
  for (const value of moments.second) sum += value * value;
  return Math.sqrt(Math.sqrt(sum));
}
