import { seededRandom } from '#src/random.js';

const LETTERS = 'ACDEFGHIKLMNPQRSTVWY';

/** Proteins of uniform random letters and lengths, the same for the same seed. */
export function randomProteins(
  count: number,
  { seed, minResidues, maxResidues }: { seed: number; minResidues: number; maxResidues: number },
): string[] {
  const { below } = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const length = minResidues + below(maxResidues - minResidues + 1);
    return Array.from({ length }, () => LETTERS[below(LETTERS.length)]).join('');
  });
}
