import type { QueryTokens } from '../../kernels/kernels.js';
import type { EncoderCard } from '../../encoder/encoder.js';

/** Score of two equal residues. With the gap costs below, one unit is a quarter of the usual unit (gaps 10 and 1). */
const EQUAL_SCORE = 52;
const GAP_OPEN = 40;
const GAP_EXTEND = 4;
/**
 * Standard deviations between the mean cosine of unrelated residues and the cosine that scores zero. For the baseline
 * encoder that cosine is 0.35.
 */
const ZERO_DEVIATIONS = 1.9;
/** Enough pairs to estimate mean and deviation to two digits. */
const PAIRS_PER_PROTEIN = 2_000;

/**
 * Estimates affine parameters of an encoder from its vectors. Vectors of language models have a large common component,
 * so even unrelated residues have a high cosine. The zero of the score must be above this cosine, or local alignments
 * of unrelated proteins grow without bound. The slope gives equal residues a score of EQUAL_SCORE.
 * @param proteins  tokens of at least two unrelated proteins
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
  // Below 1 even for a model that hardly distinguishes residues, which is poor but not an error.
  const zero = Math.min(0.99, mean + ZERO_DEVIATIONS * Math.sqrt(variance));
  const scorePerCosine = EQUAL_SCORE / (1 - zero);
  return {
    multiplier: Math.max(1, Math.min(32_767, Math.round((scorePerCosine * 65_536) / inverseStep ** 2))),
    offset: Math.round(scorePerCosine * zero),
    gap_open: GAP_OPEN,
    gap_extend: GAP_EXTEND,
  };
}

/** Returns the cosines of residue pairs at evenly spread positions of two proteins. */
function crossCosines(
  a: QueryTokens,
  b: QueryTokens,
  dimension: number,
  inverseStep: number,
): readonly number[] {
  return Array.from({ length: PAIRS_PER_PROTEIN }, (_, pair) => {
    // Coprime strides pair each residue with different partners in each pass.
    const [rowA, rowB] = [(pair * 7) % a.length, (pair * 11) % b.length];
    let dot = 0;
    for (let d = 0; d < dimension; d++)
      dot += a.values[rowA * dimension + d] * b.values[rowB * dimension + d];
    return dot / inverseStep ** 2;
  });
}
