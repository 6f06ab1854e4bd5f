import type { QueryTokens } from '../kernels/kernels.js';
import { quantise } from '../kernels/quantise.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import { alignHomologSet, effectiveSequences, rowWeights, type HomologAlignment } from './alignment.js';
import type { HomologSet } from './homolog-set.js';
import { homologProfile, profileRows, unitLogOdds } from './profile.js';

/** How the tokens of a family come about. */
export interface ProfileTokenForm {
  /** Of the encoder whose vectors are averaged. */
  readonly encoderDimension: number;
  /** Of the family's tokens: the encoder's, or room for 20 log odds more. */
  readonly dimension: number;
  readonly inverseStep: number;
  /** Share of the squared length that the profile's log odds have, 0..½; 0 for none. */
  readonly profileShare: number;
  /** Of the profiles' values (kernels.ts). */
  readonly profileScale: number;
}

/** Tokens with their profile. */
export type ProfileTokens = QueryTokens & Required<Pick<QueryTokens, 'profile' | 'effectiveSequences'>>;

/**
 * int8 tokens of a protein as its family has them: in each place the weighted mean of the vectors that stand there,
 * scaled to the length of a token again, and with them what the profile says.
 * Shape   as many rows as the protein has residues, of the form's dimension
 * Order   float64 in the order of rows, residues, components, so that the same family gives the same bits
 * @param homologSet    the selected relatives, for the profile
 * @param averaged  those of them whose vectors are averaged
 * @param vectors   tokens of the protein, then of each of these (its `residues`)
 */
export function profileTokens(
  homologSet: HomologSet,
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
  const profile = homologProfile(alignment);
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
    effectiveSequences: effectiveSequences(alignment),
  };
}

const KINDS = AMINO_ACIDS.length;

/** Unit vectors of the weighted sums in each place; a sum of zero stays. */
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
