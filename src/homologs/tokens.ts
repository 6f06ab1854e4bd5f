import type { QueryTokens } from '../kernels/kernels.js';
import { quantise } from '../kernels/quantise.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import { alignHomologSet, effectiveSequences, rowWeights, type HomologAlignment } from './alignment.js';
import type { GivenProfile, HomologSet } from './homolog-set.js';
import { homologProfile, profileRows, unitLogOdds } from './profile.js';

/** Parameters that turn encoder vectors and a profile into tokens. */
export interface ProfileTokenForm {
  /** Dimension of the encoder's vectors. */
  readonly encoderDimension: number;
  /** Dimension of the profile tokens: the encoder's, or a larger one with room for 20 log odds. */
  readonly dimension: number;
  /** Quantisation steps per unit of a vector's component. */
  readonly inverseStep: number;
  /** Share of a token's squared length that the log odds have, 0..½; 0 for tokens without log odds. */
  readonly profileShare: number;
  /** Scale of the quantised profile rows (profileRows). */
  readonly profileScale: number;
}

/** Tokens with the quantised profile and the effective number of sequences. */
export type ProfileTokens = QueryTokens & Required<Pick<QueryTokens, 'profile' | 'effectiveSequences'>>;

/**
 * Computes the profile tokens of a protein. Each residue's vector is the weighted mean of the vectors aligned to it, at
 * unit length, followed by the log odds of its profile column. Vectors are quantised to int8.
 * Shape   values int8 [length × dimension of the form]; profile int8 [length × PROFILE_WIDTH]; both row-major
 * Unit    values: 1 ÷ inverseStep; profile: as profileRows
 * Range   −127..127; squared norms as `quantise` bounds them
 * Order   float64 sums in the order of rows, residues and components, so that equal input gives equal bits
 * Errors  Fault where an alignment runs past the end of its sequences
 * @param homologSet  homologs of the profile, or a given profile
 * @param averaged    homologs whose vectors are averaged
 * @param vectors     tokens of the protein, then of the `residues` of each averaged homolog
 */
export function profileTokens(
  homologSet: HomologSet & { readonly profile?: GivenProfile },
  averaged: HomologSet,
  vectors: readonly QueryTokens[],
  form: ProfileTokenForm,
): ProfileTokens {
  const { encoderDimension, dimension, inverseStep, profileShare, profileScale } = form;
  const { length } = homologSet.sequence;
  const means = meanVectors(alignHomologSet(averaged), vectors, encoderDimension);
  const rows = new Float64Array(length * dimension);
  const ownScale = Math.sqrt(1 - profileShare);
  for (let residue = 0; residue < length; residue += 1) {
    for (let at = 0; at < encoderDimension; at += 1) {
      rows[residue * dimension + at] = means[residue * encoderDimension + at] * ownScale;
    }
  }
  const alignment = alignHomologSet(homologSet);
  const given = homologSet.profile;
  const profile = given === undefined ? homologProfile(alignment) : Float64Array.from(given.frequencies);
  if (profileShare > 0) {
    const odds = unitLogOdds(profile);
    const scale = Math.sqrt(profileShare);
    for (let residue = 0; residue < length; residue += 1) {
      for (let kind = 0; kind < KINDS; kind += 1) {
        rows[residue * dimension + encoderDimension + kind] = odds[residue * KINDS + kind] * scale;
      }
    }
  }
  return {
    values: quantise(rows, dimension, inverseStep),
    length,
    profile: profileRows(profile, profileScale),
    effectiveSequences: given?.effectiveSequences ?? effectiveSequences(alignment),
  };
}

const KINDS = AMINO_ACIDS.length;

/** Returns the weighted sum of the vectors in each column, scaled to unit length; a zero sum stays zero. */
function meanVectors(
  alignment: HomologAlignment,
  vectors: readonly QueryTokens[],
  dimension: number,
): Float64Array {
  const { length, columns } = alignment;
  const weights = rowWeights(alignment);
  const sums = Float64Array.from(vectors[0].values, (value) => value * weights[0]);
  for (const [index, row] of columns.entries()) {
    const { values } = vectors[index + 1];
    const weight = weights[index + 1];
    for (const [residue, column] of row.entries()) {
      if (column < 0) continue;
      const [from, to] = [residue * dimension, column * dimension];
      for (let at = 0; at < dimension; at += 1) sums[to + at] += values[from + at] * weight;
    }
  }
  for (let start = 0; start < length * dimension; start += dimension) {
    let squares = 0;
    for (let at = start; at < start + dimension; at += 1) squares += sums[at] * sums[at];
    const scale = squares === 0 ? 0 : 1 / Math.sqrt(squares);
    for (let at = start; at < start + dimension; at += 1) sums[at] *= scale;
  }
  return sums;
}
