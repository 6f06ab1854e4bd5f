import type { PolicyCard, RecallCard, RecallsCard } from './policy-card.js';

/**
 * What an approximate policy was measured to lose of the exhaustive answer, in words for people.
 * Unit  means over queries, each of which counts alike
 */
export function lossesOf(
  { nearest_10: ten, nearest_100: hundred, evident }: RecallsCard,
  { evident_expected_false_hits: largestE }: Pick<PolicyCard, 'evident_expected_false_hits'>,
): string {
  const near = `misses ${missed(ten)} of the 10 nearest`;
  if (evident === null) return `${near} and ${missed(hundred)} of the 100 nearest; E-values were not asked`;
  return `${near}, ${missed(hundred)} of the 100 nearest and ${missed(evident)} of all with E <= ${largestE}`;
}

function missed({ mean }: RecallCard): string {
  const percent = 100 * (1 - mean);
  if (percent === 0) return 'none';
  return percent < 0.05 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}
