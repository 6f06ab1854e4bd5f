import type { QueryTokens } from '../../kernels/kernels.js';
import type { EncoderCard } from '../../encoder/encoder.js';

/** Score of two equal residues; with the gaps below it is in quarter steps of the usual 10 and 1. */
const EQUAL_SCORE = 52;
const GAP_OPEN = 40;
const GAP_EXTEND = 4;
/**
 * The score is zero this many deviations above the mean of unrelated residues; cosine 0.35 for the baseline.
 */
const ZERO_DEVIATIONS = 1.9;
/** Enough pairs for two digits of mean and deviation. */
const PAIRS_PER_PROTEIN = 2_000;

/**
 * Affine parameters for an encoder of which nothing is known but its vectors. Language models give vectors
 * with a large common part, so that even unrelated residues have a high cosine: the zero of the score must
 * lie above what unrelated proteins show, or local alignments grow without end. The slope gives equal
 * residues the score they have elsewhere. @param proteins  tokens of at least two unrelated proteins
 */
export function suggestAffine(
  proteins: readonly QueryTokens[],
  dimension: number,
  inverseStep: number,
): EncoderCard['affine'] {
  const cosines = proteins
    .slice(1)
    .flatMap((protein, i) => crossCosines(proteins[i], protein, dimension, inverseStep));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  const variance = cosines.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0) / cosines.length;
  // Just under 1 where a model tells residues hardly apart: such an encoder is poor, not an error.
  const zero = Math.min(0.99, mean + ZERO_DEVIATIONS * Math.sqrt(variance));
  const scorePerCosine = EQUAL_SCORE / (1 - zero);
  return {
    multiplier: Math.max(1, Math.min(32_767, Math.round((scorePerCosine * 65_536) / inverseStep ** 2))),
    offset: Math.round(scorePerCosine * zero),
    gap_open: GAP_OPEN,
    gap_extend: GAP_EXTEND,
  };
}

/** Cosines of residues at evenly spread places of two proteins. */
function crossCosines(
  a: QueryTokens,
  b: QueryTokens,
  dimension: number,
  inverseStep: number,
): readonly number[] {
  return Array.from({ length: PAIRS_PER_PROTEIN }, (_, pair) => {
    // Two strides without a common factor with each other visit different partners each time round.
    const [rowA, rowB] = [(pair * 7) % a.length, (pair * 11) % b.length];
    let dot = 0;
    for (let d = 0; d < dimension; d++)
      dot += a.values[rowA * dimension + d] * b.values[rowB * dimension + d];
    return dot / inverseStep ** 2;
  });
}
